/* Stand-in for Windows' bcryptprimitives.dll, so that Wine without one can start a Rust
 * program: std takes its random numbers from ProcessPrng. For checks only, never shipped. */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG size);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE buffer, SIZE_T size)
{
    while (size) {
        ULONG part = size > 1 << 20 ? 1 << 20 : (ULONG)size;
        if (!SystemFunction036(buffer, part))
            return FALSE;
        buffer += part;
        size -= part;
    }
    return TRUE;
}
