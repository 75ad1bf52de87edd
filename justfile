# Recipes for everyday work. CI runs `.ci/run`, which is all of `check`, `deny`,
# `test`, `slow`, `interop`, `dist` and `windows`.

_list:
    @{{just_executable()}} --list --unsorted

# formatting, lints, documentation
check:
    .ci/run fmt clippy doc

# the tests that need only Rust and a C compiler
test:
    .ci/run test

# the slower suites: [[test]] targets with `test = false`
slow:
    .ci/run slow

# peers in other languages (Python, Node)
interop:
    .ci/run interop

# the static Linux binary, cheaply built, started once
musl:
    packaging/cross/musl ci

# what is shipped: the static Linux binary, its size checked
dist:
    .ci/run musl

# the Windows program, its version asked under Wine
windows:
    .ci/run windows

# whether the code compiles for Windows, without linking it
check-windows:
    packaging/cross/cargo x86_64-pc-windows-gnu check --all-targets

# licences, banned crates, sources
deny:
    .ci/run deny

# take every snapshot as the code writes it now; read the diff before committing it
fixtures:
    INSTA_UPDATE=always cargo test
    git diff --stat

# speed and memory; prints what it measured
bench *ARGUMENTS:
    cargo bench {{ARGUMENTS}}

# a node with an echo agent in the foreground, for trying things: `just send hello` beside it
tour:
    mkdir -p target/tour/workspace
    cargo run -- serve --state-dir target/tour/state --workspace target/tour/workspace --agent echo=echo

# say something to the node of `just tour`
send +TEXT:
    cargo run -q -- --state-dir target/tour/state send {{quote(TEXT)}}
