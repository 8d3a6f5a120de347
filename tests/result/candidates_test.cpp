// Tests which changes are offered where a plan does not fit.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/result/verdict.h"
#include "tests/support/layers.h"

namespace trainyard {
namespace {

bool offers(const Scenario& s, std::string_view change) {
  const std::vector<std::string> found = candidate_changes(prepare(s), false);
  return std::find(found.begin(), found.end(), change) != found.end();
}

// Where the host's memory is stated and too small for optimizer state, the node's NVMe is offered
// too, if it could have that state.
TEST(Candidates, NvmeIsOfferedWhereTheHostIsTooSmall) {
  constexpr std::string_view kHost = "offload=optimizer",
                             kNvme = "offload=optimizer offload-tier=nvme";
  Scenario s = testing::scenario(testing::gpt({.layers = 48, .vocab = 512}), 8, {"precision=bf16"});
  s.cluster.nvme_read = s.cluster.nvme_write = {{2e10}, "given"};
  EXPECT_TRUE(offers(s, kHost));
  EXPECT_FALSE(offers(s, kNvme));
  s.cluster.host_memory = {1024_GiB, "given"};
  EXPECT_FALSE(offers(s, kNvme));
  s.cluster.host_memory = {40_GiB, "given"};
  EXPECT_TRUE(offers(s, kNvme));
  s.cluster.nvme_write = {};
  EXPECT_FALSE(offers(s, kNvme));
}

}  // namespace
}  // namespace trainyard
