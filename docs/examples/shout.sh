#!/bin/sh
# An agent in a shell: says each word of the message in capitals. Needs jq.
while IFS= read -r order; do
    [ "$(printf '%s' "$order" | jq -r .type)" = message ] || continue
    printf '%s' "$order" | jq -r '.message.parts[] | .text // empty' | tr -s '[:space:]' '\n' |
        while IFS= read -r word; do
            printf '%s' "$word" | tr '[:lower:]' '[:upper:]' |
                jq -Rc '{artifactUpdate: {append: true, artifact: {parts: [{text: (. + " ")}]}}}'
        done
    echo '{"statusUpdate":{"status":{"state":"TASK_STATE_COMPLETED"}}}'
done
