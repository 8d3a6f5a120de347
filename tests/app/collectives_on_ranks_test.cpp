// Tests all-reduces between processes. Times are machine's; sums, rows and words are not. Needs
// mpirun.
#include <gtest/gtest.h>

#include <set>

#include "app/cli/verb.h"
#include "app/cli/verbs/json_schemas.h"
#include "core/io/json/json.h"
#include "tests/app/on_ranks.h"
#include "tests/support/conforms.h"

namespace trainyard {
namespace {

using CollectivesOnRanks = OnRanks;

std::set<std::string> measured_algorithms(const Json& document) {
  std::set<std::string> names;
  const JsonCursor cursor(document, "collectives");
  for (const JsonCursor& row : cursor.at("rows").items()) names.insert(row.at("algorithm").text());
  return names;
}

TEST_F(CollectivesOnRanks, EveryAlgorithmAddsUpTheSame) {
  const std::pair<int, std::set<std::string>> cases[] = {
      {3, {"ring", "tree"}},
      {4, {"ring", "recursive-doubling", "halving-doubling", "tree", "torus", "hierarchical"}}};
  for (const auto& [ranks, algorithms] : cases) {
    const Ran ran = on_ranks(ranks, "hardware --collectives --json", folder);
    ASSERT_EQ(ran.exit, kDone) << ran.err;
    const Json document = parse_json(ran.out, "collectives");
    conforms(document, parse_json(json_schema("collectives"), "schema"), "collectives");
    EXPECT_EQ(measured_algorithms(document), algorithms);
    const JsonCursor cursor(document, "collectives");
    EXPECT_EQ(cursor.at("ranks").integer(), ranks);
    EXPECT_EQ(cursor.at("choices").items().size(), 3U);
    EXPECT_LE(cursor.at("sum_error").number(), 1e-6);
    EXPECT_GT(cursor.at("sum_error").number(), 0) << "values whose sums are rounded were added";
  }
}

TEST_F(CollectivesOnRanks, TheTextIsSaidOnce) {
  const Ran ran = on_ranks(2, "hardware --collectives", folder);
  ASSERT_EQ(ran.exit, kDone) << ran.err;
  EXPECT_EQ(ran.out.rfind("all-reduce of fp32 between 2 ranks, 2 of them on this machine", 0), 0u)
      << ran.out;
  EXPECT_EQ(ran.out.find("all-reduce of fp32", 1), std::string::npos);
}

// The first process alone answers what needs one, as it does for verbs that do not split.
TEST_F(CollectivesOnRanks, OtherHardwareIsSaidByTheFirst) {
  const Ran one = trainyard("hardware h100-sxm", folder);
  const Ran three = on_ranks(3, "hardware h100-sxm", folder);
  EXPECT_EQ(three.exit, kDone) << three.err;
  EXPECT_EQ(three.out, one.out);
}

}  // namespace
}  // namespace trainyard
