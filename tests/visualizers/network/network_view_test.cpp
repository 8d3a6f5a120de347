#include "visualizers/network/network_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "visualizers/drawing/heat.h"
#include "visualizers/drawing/svg.h"

namespace trainyard {
namespace {

NetworkUse pictured_network() {
  NetworkUse use;
  use.tenants = 0.1;
  use.step = Duration{1'000'000}, use.alone = Duration{800'000};
  use.bin = Duration{262'144};
  use.busiest = {{"port of device 3, out", 8, 1, {50e9}, 0.5, 0.1, {0, 1, 0.5, 0.5}},
                 {"node link of device 0, in", 1, 0, {450e9}, 0.25, 0, {0.25, 0.25, 0.25, 0.25}}};
  use.waits = {{"data all-reduce", "other jobs", "port of device 3, out", Duration{50'000}},
               {"data all-reduce", "tensor all-gather", "port of device 3, in", Duration{20'000}}};
  return use;
}

std::vector<Mark> network_marks(const Drawing& drawing, ItemKind kind) {
  std::vector<Mark> found;
  for (const Mark& mark : plain_marks(drawing))
    if (mark.style.item.kind == kind) found.push_back(mark);
  return found;
}

TEST(NetworkView, DrawsEachLoadWhereAndAsDarkAsItIs) {
  const NetworkUse use = pictured_network();
  const Drawing drawing = network_picture(use);
  const std::vector<Mark> cells = network_marks(drawing, ItemKind::Cell);
  ASSERT_EQ(cells.size(), 8u);
  EXPECT_EQ(cells[0].style.ink, Ink::Grid);
  EXPECT_EQ(cells[1].style.ink, heat(kHeatSteps - 1));
  EXPECT_EQ(cells[2].style.ink, heat(kHeatSteps / 2));
  EXPECT_EQ(cells[1].style.item.tag, load_cell(0, 1));
  // The bins are as wide as their time, the last one cut by the end of the step.
  const double whole_row = cells[3].rect.right() - cells[0].rect.x;
  EXPECT_NEAR(cells[0].rect.width / whole_row, 0.262144, 1e-3);
  EXPECT_NEAR(cells[3].rect.width / whole_row, 1 - 3 * 0.262144, 1e-3);
}

TEST(NetworkView, BarsPartTheLoadBetweenTheJobAndOthers) {
  const std::vector<Mark> bars = network_marks(network_picture(pictured_network()), ItemKind::Lane);
  double all = 0, own = 0, others = 0;
  for (const Mark& bar : bars)
    if (bar.style.item.tag == 0)
      (bar.style.ink == Ink::Communication ? own
       : bar.style.ink == Ink::Swap        ? others
                                           : all) += bar.rect.width;
  EXPECT_NEAR(own / all, 0.4, 1e-3);
  EXPECT_NEAR(others / all, 0.1, 1e-3);
}

TEST(NetworkView, BarsOfWaitsAreAsLongAsTheyLast) {
  const std::vector<Mark> waits = network_marks(network_picture(pictured_network()), ItemKind::Dot);
  ASSERT_EQ(waits.size(), 2u);
  EXPECT_NEAR(waits[1].rect.width / waits[0].rect.width, 0.4, 1e-3);
}

TEST(NetworkView, TellsWhatIsPointedAtAndNamesTheWorstLink) {
  const NetworkUse use = pictured_network();
  EXPECT_EQ(describe_network(use, {ItemKind::Cell, load_cell(0, 2)}).value, "50.0 %");
  EXPECT_EQ(describe_network(use, {ItemKind::Lane, 1}).title, "node link of device 0, in");
  EXPECT_EQ(describe_network(use, {ItemKind::Dot, 1}).title,
            "data all-reduce waits for tensor all-gather");
  EXPECT_TRUE(describe_network(use, {ItemKind::Cell, load_cell(0, 4)}).title.empty());
  EXPECT_TRUE(describe_network(use, {ItemKind::Lane, 2}).title.empty());
  NetworkUse bursting = use;
  bursting.incasts = {
      {"expert all-to-all", "port of device 5, in", 8, 7, Bytes{2'000'000}, 3, Duration{25'000}}};
  EXPECT_EQ(network_sentences(bursting).size(), network_sentences(use).size() + 1);
  EXPECT_EQ(network_table(bursting).rows, network_table(use).rows + 1);
  std::string all;
  for (const std::string& sentence : network_sentences(use)) all += sentence + " ";
  for (const char* words : {"+25.0 %", "port of device 3, out and 7 like it: 50.0 % of the step",
                            "100.0 % in its busiest", "Other jobs are 10.0 %", "for other jobs"})
    EXPECT_NE(all.find(words), std::string::npos) << words << "\n" << all;
}

TEST(NetworkView, RowsAreAllLinksThenAllWaits) {
  const NetworkUse use = pictured_network();
  const DataTable table = network_table(use);
  ASSERT_EQ(table.rows, 4u);
  EXPECT_EQ(std::get<double>(table.cell(0, 7)), 1);
  EXPECT_EQ(std::get<std::int64_t>(table.cell(3, 8)), 20'000);
  for (std::size_t row = 0; row < table.rows; ++row)
    EXPECT_FALSE(describe_network(use, table.item(row)).title.empty()) << row;
}

TEST(NetworkView, DrawsTheSameBytesAtAnySizeAndAnEmptyNetworkToo) {
  for (const NetworkUse& use : {pictured_network(), NetworkUse{}})
    for (const Size size : {Size{0, 0}, Size{200, 90}, Size{2400, 1600}}) {
      Drawing one(size), two(size);
      draw_network(one, whole(size), use);
      draw_network(two, whole(size), use);
      EXPECT_EQ(to_svg(one, Theme::Dark), to_svg(two, Theme::Dark));
      for (const Mark& mark : plain_marks(one))
        ASSERT_TRUE(std::isfinite(mark.rect.x + mark.rect.y + mark.rect.width + mark.rect.height));
    }
  EXPECT_EQ(network_sentences({}).size(), 2u);
}

}  // namespace
}  // namespace trainyard
