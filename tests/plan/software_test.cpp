#include "core/plan/software.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/cluster/device.h"
#include "core/methods/settings/settings.h"

namespace trainyard {
namespace {

std::string refused_release(std::string_view text) {
  try {
    release_month(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Release, IsAYearAndAMonth) {
  EXPECT_EQ(release_month("2026-02") - release_month("2025-09"), 5);
  EXPECT_EQ(release_month("2015-01"), 12 * 15);
  for (const char* wrong : {"", "2026", "2026-2", "2026-13", "2026-00", "2014-12", "2036-01",
                            "2026/02", "20a6-02", "26.02"})
    EXPECT_EQ(refused_release(wrong),
              "expected the year and month of a release, from 2015-01 to 2035-12, found \"" +
                  std::string(wrong) + "\"; nearest: \"2025-09\"");
}

TEST(Release, CountsInYearsFromTheUsualOne) {
  Software software;
  const auto years = [&] { return settle(software, device("h100-sxm")).years; };
  EXPECT_EQ(years(), 0);
  software.release = "2026-09";
  EXPECT_DOUBLE_EQ(years(), 1);
  software.release = "2025-03";
  EXPECT_DOUBLE_EQ(years(), -0.5);
}

TEST(SoftwareSettings, StateGraphsAndTheRelease) {
  Plan plan;
  apply_setting(plan, "cuda-graphs=on");
  apply_setting(plan, "release=2026-02");
  EXPECT_EQ(plan.software.graphs, "on");
  EXPECT_EQ(plan.software.release, "2026-02");
  EXPECT_EQ(setting(plan, "release"), "2026-02");
  EXPECT_THROW(apply_setting(plan, "cuda-graphs=maybe"), Error);
  EXPECT_THROW(apply_setting(plan, "release=soon"), Error);
  EXPECT_EQ(plan.software.release, "2026-02");
}

}  // namespace
}  // namespace trainyard
