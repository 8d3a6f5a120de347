// Solves instances published as hard for a solver of this problem, within their capacity.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/io/documents/arena_csv.h"
#include "core/memory/arena_solver.h"
#include "tests/memory/random_lives.h"
#include "tests/support/source_dir.h"

namespace trainyard {
namespace {

ArenaCsv instance(const std::string& name) {
  const std::string path =
      std::string(TRAINYARD_SOURCE_DIR) + "/tests/memory/minimalloc/" + name + ".1048576.csv";
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return parse_arena_csv(text.str(), path);
}

class Minimalloc : public ::testing::TestWithParam<const char*> {};

TEST_P(Minimalloc, FitsItsCapacity) {
  const ArenaCsv csv = instance(GetParam());
  // The one that takes most is content with 8,000 nodes.
  const SolvedArena solved = solve_arena(csv.lives, {.capacity = Bytes{1 << 20}, .nodes = 20'000});
  EXPECT_TRUE(solved.fits) << solved.nodes;
  EXPECT_EQ(testing::wrong_with(csv.lives, solved.offsets, solved.reach, 1_B), "");
  EXPECT_GE(solved.reach, solved.lower_bound);
  EXPECT_EQ(solved.lower_bound, most_alive(csv.lives, 1_B));
}

// The same problem told backwards in time and in another order is no harder by much.
TEST_P(Minimalloc, FitsItsCapacityBackwards) {
  std::vector<Lifetime> lives = instance(GetParam()).lives;
  const Random random(7);
  for (std::size_t i = lives.size(); i-- > 1;)
    std::swap(lives[i],
              lives[static_cast<std::size_t>(random.between(i, 0, static_cast<std::int64_t>(i)))]);
  for (Lifetime& life : lives) life = {-life.to, -life.from, life.bytes};
  const SolvedArena solved = solve_arena(lives, {.capacity = Bytes{1 << 20}});
  EXPECT_TRUE(solved.fits) << solved.nodes;
  EXPECT_EQ(testing::wrong_with(lives, solved.offsets, solved.reach, 1_B), "");
}

INSTANTIATE_TEST_SUITE_P(Challenging, Minimalloc,
                         ::testing::Values("A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K"));

// Best fit alone does none of them.
TEST(MinimallocByBestFit, FitsNone) {
  for (const char* name : {"A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K"})
    EXPECT_FALSE(solve_arena(instance(name).lives, {.capacity = Bytes{1 << 20}, .nodes = 0}).fits)
        << name;
}

}  // namespace
}  // namespace trainyard
