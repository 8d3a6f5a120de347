// Memory that a frame or a training frees stays with the process for the next one.
#pragma once

namespace trainyard {

/// For the whole process, once, before it works; does nothing with a C library that has no
/// such settings. Without it a frame's lists of a few MiB go back to the system each time, and a
/// third of the time of drawing goes to pages that are handed out and zeroed again. At most 64 MiB
/// stay at the top of each heap; blocks of more than 32 MiB go back at once.
void keep_freed_memory();

}  // namespace trainyard
