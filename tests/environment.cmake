# What every test runs with; read by ctest itself, so a preset, a bare ctest and an IDE agree.
set(ENV{QT_QPA_PLATFORM} offscreen)
set(ENV{ASAN_OPTIONS} detect_stack_use_after_return=1)
set(ENV{UBSAN_OPTIONS} print_stacktrace=1)
set(ENV{LSAN_OPTIONS} suppressions=${CMAKE_CURRENT_LIST_DIR}/leaks.txt:print_suppressions=0)
set(ENV{TSAN_OPTIONS} suppressions=${CMAKE_CURRENT_LIST_DIR}/threads.txt:print_suppressions=0:history_size=4)

# Memory that a test frees stays with its process, and large blocks lie on large pages: of many tests that train, a part
# of the time went to pages that were handed out and zeroed again. It is the C library's own setting, and sanitizers ignore it.
set(ENV{GLIBC_TUNABLES} glibc.malloc.mmap_threshold=33554432:glibc.malloc.trim_threshold=67108864:glibc.malloc.hugetlb=1)

# Nothing of the person's own settings is read or written.
get_filename_component(home ${CMAKE_CURRENT_LIST_DIR}/../build/home ABSOLUTE)
foreach(folder RUNTIME_DIR CONFIG_HOME DATA_HOME CACHE_HOME)
  file(MAKE_DIRECTORY ${home}/${folder})
  file(CHMOD ${home}/${folder} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  set(ENV{XDG_${folder}} ${home}/${folder})
endforeach()

# Where Mesa's software device is installed, tests use it and none may fall back silently.
file(GLOB lavapipe /usr/share/vulkan/icd.d/lvp_icd*.json)
if(lavapipe)
  set(ENV{VK_ICD_FILENAMES} ${lavapipe})
  set(ENV{TRAINYARD_REQUIRE_VULKAN} 1)
endif()
