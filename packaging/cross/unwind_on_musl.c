/* What gcc's unwinder, built for glibc, misses in a static program on musl. It goes into
 * the copy of that unwinder which such programs are linked with; without it every panic,
 * caught or not, would end the program.
 *
 * 1. _dl_find_object: the one function it asks which unwind table covers an address.
 *    The struct is glibc's public one for x86_64 (dlfcn.h, since 2.35).
 * 2. The pthread functions it names weakly, sure that libc.so has them: from an archive
 *    a weak name brings nothing, so they are named here. */
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <stdint.h>

struct dl_find_object {
    unsigned long long flags;
    void *map_start;
    void *map_end;
    struct link_map *link_map;
    void *eh_frame;
    unsigned long long reserved[7];
};

struct search {
    uintptr_t address;
    struct dl_find_object *found;
};

static int look(struct dl_phdr_info *object, size_t size, void *data)
{
    struct search *search = data;
    void *table = 0;
    int covered = 0;
    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        uintptr_t start = object->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_GNU_EH_FRAME)
            table = (void *)start;
        if (part->p_type == PT_LOAD && search->address - start < part->p_memsz) {
            covered = 1;
            search->found->map_start = (void *)start;
            search->found->map_end = (void *)(start + part->p_memsz);
        }
    }
    search->found->eh_frame = table;
    return covered && table;
}

int _dl_find_object(void *address, struct dl_find_object *found)
{
    struct search search = { (uintptr_t)address, found };
    found->flags = 0;
    found->link_map = 0;
    return dl_iterate_phdr(look, &search) ? 0 : -1;
}

__attribute__((used)) static void *const named_weakly[] = {
    (void *)pthread_once,         (void *)pthread_key_create,  (void *)pthread_getspecific,
    (void *)pthread_setspecific,  (void *)pthread_mutex_lock,  (void *)pthread_mutex_unlock,
};
