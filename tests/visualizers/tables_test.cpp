#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/csv.h"
#include "core/base/units_text.h"
#include "tests/visualizers/run/run_models.h"
#include "visualizers/compare/waterfall_view.h"
#include "visualizers/memory/memory_view.h"
#include "visualizers/run/run_view.h"
#include "visualizers/timeline/timeline_view.h"
#include "visualizers/waves/waves_model.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

DataTable table_of_one(DataColumn column, std::vector<DataCell> cells) {
  std::vector<std::vector<DataCell>> rows;
  for (DataCell& cell : cells) rows.push_back({std::move(cell)});
  return listed_table("one", {std::move(column)}, std::move(rows));
}

std::size_t column_of(const DataTable& table, const std::string& name) {
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    if (table.columns[c].name == name) return c;
  ADD_FAILURE() << "no column " << name;
  return 0;
}

std::int64_t whole(const DataTable& table, std::size_t row, const std::string& name) {
  const DataCell cell = table.cell(row, column_of(table, name));
  const auto* value = std::get_if<std::int64_t>(&cell);
  EXPECT_NE(value, nullptr) << name << " of row " << row;
  return value == nullptr ? 0 : *value;
}

TEST(Tables, FileKeepsEveryDigitOfATime) {
  const std::vector<DataCell> cells = {std::int64_t{1},
                                       std::int64_t{-1'500'000'000},
                                       std::int64_t{2'000'000'000},
                                       std::numeric_limits<std::int64_t>::min(),
                                       {}};
  EXPECT_EQ(to_csv(table_of_one({"start", DataUnit::Time}, cells)),
            "start (s)\r\n0.000000001\r\n-1.5\r\n2\r\n-9223372036.854775808\r\n\r\n");
}

TEST(Tables, FileReadsBackAsItIs) {
  const std::vector<std::string> words = {"plain", "a, b", "said \"so\"", "two\r\nlines", "\u00D7"};
  std::vector<DataCell> cells(words.begin(), words.end());
  const std::vector<CsvRecord> read =
      parse_csv(to_csv(table_of_one({"words", DataUnit::Words}, cells)), "test");
  ASSERT_EQ(read.size(), words.size() + 1);
  for (std::size_t i = 0; i < words.size(); ++i) EXPECT_EQ(read[i + 1].fields.front(), words[i]);
}

TEST(Tables, FileHasNoRoundedFigure) {
  const double share = 1.0 / 3;
  const std::vector<CsvRecord> read =
      parse_csv(to_csv(table_of_one({"share", DataUnit::Share}, {share})), "test");
  EXPECT_EQ(parse_number(read.at(1).fields.at(0)), share);
  EXPECT_EQ(to_csv(table_of_one({"x", DataUnit::Number}, {std::nan("")})), "x\r\n\r\n");
}

TEST(Tables, PeopleReadRoundedFiguresWithUnits) {
  EXPECT_EQ(cell_text({"", DataUnit::ByteCount}, std::int64_t{3} << 30), "3.00 GiB");
  EXPECT_EQ(cell_text({"", DataUnit::Time}, std::int64_t{4'000'000}), "4.00 ms");
  EXPECT_EQ(cell_text({"", DataUnit::Share}, 0.347), "34.7 %");
  EXPECT_EQ(cell_text({"", DataUnit::Rate}, 12345.678), "12346");
  EXPECT_EQ(cell_text({"", DataUnit::Share}, {}), "");
  EXPECT_EQ(cell_text({"", DataUnit::Words}, std::string("words")), "words");
}

TEST(Tables, NothingSortsBehindEverything) {
  EXPECT_TRUE(cell_before(std::int64_t{2}, std::int64_t{10}));
  EXPECT_TRUE(cell_before(std::int64_t{2}, 2.5));
  EXPECT_TRUE(cell_before(2.5, std::string("a")));
  EXPECT_TRUE(cell_before(std::string("b"), {}));
  EXPECT_FALSE(cell_before({}, {}));
}

TEST(Tables, TimelineHasEveryInstructionOnce) {
  const ExperimentPtr e = testing_experiment::experiment();
  const DataTable table = timeline_table(e, {});
  ASSERT_EQ(table.rows, e->program.instructions.size());
  std::int64_t work = 0;
  for (std::size_t row = 0; row < table.rows; ++row) {
    const Item item = table.item(row);
    EXPECT_EQ(item.kind, ItemKind::Span);
    EXPECT_EQ(whole(table, row, "start"), e->timeline.spans[item.tag].start.count());
    work += whole(table, row, "duration");
  }
  EXPECT_EQ(Duration{work}, 2 * (4 * (2ms + 4ms) + 2ms));
}

TEST(Tables, TimelineFollowsTheRange) {
  const ExperimentPtr e = testing_experiment::experiment();
  ViewState state;
  state.range = TimeRange{Instant{0}, Instant{1}};
  const DataTable table = timeline_table(e, state);
  ASSERT_EQ(table.rows, 1u);  // only the first forward has begun
  EXPECT_EQ(whole(table, 0, "stage"), 0);
}

TEST(Tables, MemorySumsToItsTotalAndReachesThePeak) {
  const ExperimentPtr e = testing_experiment::experiment();
  const DataTable table = memory_table(e);
  std::int64_t highest = 0;
  for (std::size_t row = 0; row < table.rows; ++row) {
    std::int64_t sum = 0;
    for (std::size_t c = 4; c < table.columns.size(); ++c)
      sum += std::get<std::int64_t>(table.cell(row, c));
    EXPECT_EQ(sum, whole(table, row, "total"));
    highest = std::max(highest, sum);
  }
  EXPECT_EQ(Bytes{highest}, 19_GiB);
}

TEST(Tables, WavesSumToTheirTotal) {
  const DataTable table = waves_table(waves_model(testing_experiment::experiment()));
  ASSERT_GT(table.rows, 0u);
  for (std::size_t row = 0; row < table.rows; ++row) {
    std::int64_t sum = 0;
    for (std::size_t c = 3; c < table.columns.size(); ++c)
      sum += std::get<std::int64_t>(table.cell(row, c));
    EXPECT_EQ(sum, whole(table, row, "total"));
  }
}

TEST(Tables, WaterfallEndsWithItsSums) {
  WaterfallModel model;
  model.title = "Step";
  model.parts = {{"forward", "", 10, 12}, {"bubble", "", 5, 1}};
  const DataTable table = waterfall_table({model});
  ASSERT_EQ(table.rows, 3u);
  EXPECT_EQ(whole(table, 2, "time of A"), 15);
  EXPECT_EQ(whole(table, 2, "time, B less A"), -2);
}

TEST(Tables, ARunOfWavesThatShareADeviceHasTheirAlignedPeak) {
  const RunModel model = testing_run::sharing();
  const DataTable table = run_table(model);
  for (std::size_t row = 0; row < table.rows; ++row) {
    const DataCell what = table.cell(row, column_of(table, "what"));
    if (std::get<std::string>(what) != "peak, waves aligned") continue;
    EXPECT_EQ(whole(table, row, "memory predicted"), model.aligned->peak.value);
    return;
  }
  FAIL() << "no such row";
}

TEST(Tables, ARunHasItsResidualsThenItsLosses) {
  const RunModel model = testing_run::done();
  const DataTable table = run_table(model);
  const auto words = [&](std::size_t row, const std::string& column) {
    const DataCell cell = table.cell(row, column_of(table, column));
    return std::get<std::string>(cell);
  };
  EXPECT_EQ(words(0, "what"), "Step of Stage 0: forward");
  EXPECT_EQ(whole(table, 0, "time predicted"), 8'000'000);
  EXPECT_EQ(whole(table, 0, "time measured"), 8'800'000);
  EXPECT_EQ(words(0, "likely cause"), "mostly forward, +10.0 %");
  std::size_t losses = 0, far = 0;
  for (std::size_t row = 0; row < table.rows; ++row) {
    losses += words(row, "what").starts_with("update ") ? 1 : 0;
    if (!words(row, "what").ends_with("largest deviation")) continue;
    ++far;
    EXPECT_EQ(whole(table, row, "time measured"), 4'400'000);
  }
  EXPECT_EQ(losses, 4u);
  EXPECT_EQ(far, 1u);
  EXPECT_EQ(words(table.rows - 1, "what"), "update 4");
  EXPECT_EQ(table.item(table.rows - 1), (Item{ItemKind::Dot, 3}));
  EXPECT_EQ(run_table({}).rows, 0u);
}

}  // namespace
}  // namespace trainyard
