// Tests regions, and how a cluster says where it stands: by words, in its file, and as a field.
#include "core/cluster/site.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/cluster/cluster_fields.h"
#include "core/io/documents/cluster_json.h"
#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

TEST(Site, RegionsAreSortedAndSayYearAndSource) {
  const auto all = testing::non_empty(regions());
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(),
                             [](const Region& a, const Region& b) { return a.name < b.name; }));
  for (const Region& one : all) {
    EXPECT_GT(one.grams_per_kwh, 10) << one.name;
    EXPECT_LT(one.grams_per_kwh, 1000) << one.name;
    EXPECT_GE(one.year, 2022) << one.name;
    EXPECT_LE(one.year, 2024) << one.name;
    EXPECT_FALSE(one.source.empty() || one.title.empty()) << one.name;
    EXPECT_EQ(&region(one.name), &one);
  }
}

TEST(Site, HasTheFiguresOfItsSource) {
  EXPECT_EQ(region("sweden").grams_per_kwh, 40.7);
  EXPECT_EQ(region("united-states").grams_per_kwh, 369.5);
  EXPECT_EQ(region("world").grams_per_kwh, 481);
  EXPECT_LT(region("france").grams_per_kwh, region("germany").grams_per_kwh);
  EXPECT_LT(region("germany").grams_per_kwh, region("poland").grams_per_kwh);
}

TEST(Site, IsReadAndWrittenEverywhere) {
  const Cluster cluster = parse_cluster("h100-sxm:8,region=sweden,pue=1.1");
  EXPECT_EQ(cluster.site, (Site{"sweden", 1.1}));
  EXPECT_EQ(parse_cluster(cluster.name), cluster);
  EXPECT_EQ(read_cluster(write_cluster(cluster), "again"), cluster);
  EXPECT_EQ(parse_cluster("h100-sxm:8,pue=1").name, "h100-sxm:8");
  const Cluster plain = parse_cluster("h100-sxm:8");
  EXPECT_EQ(plain.site, Site{});
  EXPECT_EQ(write_cluster(plain).find("region"), std::string::npos);
  const Cluster moved =
      with_cluster_field(with_cluster_field(plain, "region", "norway"), "pue", "1.25");
  EXPECT_EQ(moved.site, (Site{"norway", 1.25}));
  EXPECT_EQ(with_cluster_field(moved, "region", "none").site.region, "");
}

TEST(Site, WrongOnesAreSentences) {
  EXPECT_EQ(testing::refusal([] { parse_cluster("h100-sxm:8,region=sweeden"); }),
            "cluster \"h100-sxm:8,region=sweeden\": region: expected a region whose electricity is "
            "known, found \"sweeden\"; did you mean \"sweden\"?");
  EXPECT_EQ(testing::refusal([] { parse_cluster("h100-sxm:8,pue=0.9"); }),
            "cluster \"h100-sxm:8,pue=0.9\": pue: pue must be 1 to 10, not \"0.9\"");
  EXPECT_EQ(testing::refusal([] { with_cluster_field(parse_cluster("h100-sxm:8"), "pue", "11"); }),
            "cluster pue: the overhead of the building (PUE) is 1 to 10, not 11");
}

TEST(Site, SaysItInOneSentence) {
  EXPECT_EQ(
      site_sentence({"sweden", 1.1}),
      "40.7 g of CO2 equivalents per kWh in Sweden (2023, Our World in Data, carbon intensity "
      "of electricity generation, from Ember and Energy Institute); PUE 1.1");
  EXPECT_NE(site_sentence({"world", 1}).find("481 g of CO2 equivalents per kWh in the world"),
            std::string::npos);
}

// A memory on the chip delivers an operand for each multiply-add, or the description is wrong.
TEST(OnChipMemory, IsReadWrittenAndHeldAgainstItsBandwidth) {
  const Cluster board = parse_cluster("h100-sxm:8");
  EXPECT_EQ(
      testing::refusal([&] { with_cluster_field(board, "memory.on-chip", "on"); }).substr(0, 31),
      "cluster memory.on-chip: H100 SX");
  EXPECT_EQ(testing::refusal([&] { with_cluster_field(board, "memory.on-chip", "yes"); }),
            "cluster memory.on-chip: expected on or off, found \"yes\"");
  Cluster fast = with_cluster_field(board, "memory.bandwidth", "2000 TB/s");
  fast = with_cluster_field(fast, "memory.on-chip", "on");
  EXPECT_TRUE(fast.device.on_chip_memory);
  EXPECT_EQ(read_cluster(write_cluster(fast), "again"), fast);
  EXPECT_THROW(with_cluster_field(fast, "memory.bandwidth", "3.35 TB/s"), Error);
}

}  // namespace
}  // namespace trainyard
