// Any text is a file of buffers or is refused with InvalidInput; what is read is placed without an
// overlap, within nothing less than the bound, and what is written reads back as itself.
#include <cstdint>
#include <cstdlib>

#include "core/base/error.h"
#include "core/io/documents/arena_csv.h"
#include "core/memory/arena_solver.h"

namespace {

using namespace trainyard;

void check(bool holds) {
  if (!holds) std::abort();
}

void check_placement(const ArenaCsv& csv, const SolvedArena& solved) {
  check(solved.reach >= solved.lower_bound);
  for (std::size_t i = 0; i < csv.lives.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const Lifetime &a = csv.lives[i], &b = csv.lives[j];
      if (!ever_there(a) || !ever_there(b) || !meet(a, b)) continue;
      check(solved.offsets[i] >= solved.offsets[j] + b.bytes ||
            solved.offsets[j] >= solved.offsets[i] + a.bytes);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const ArenaCsv csv = parse_arena_csv({reinterpret_cast<const char*>(data), size}, "input");
    if (csv.lives.size() > 300) return 0;
    const SolvedArena solved = solve_arena(csv.lives, {.nodes = 200});
    check_placement(csv, solved);
    const ArenaCsv again = parse_arena_csv(arena_csv(csv, solved.offsets), "again");
    check(again.ids == csv.ids && again.offsets == solved.offsets);
    for (std::size_t i = 0; i < csv.lives.size(); ++i)
      check(again.lives[i].from == csv.lives[i].from && again.lives[i].to == csv.lives[i].to &&
            again.lives[i].bytes == csv.lives[i].bytes);
  } catch (const Error& error) {
    check(error.kind() == Error::Kind::InvalidInput);
  }
  return 0;
}
