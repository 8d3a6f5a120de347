#include "app/desktop/tables/name_tables.h"

#include <gtest/gtest.h>

#include <QCoreApplication>

#include "tests/desktop/support.h"
#include "visualizers/viewmodel/span_index.h"

namespace trainyard {
namespace {

std::shared_ptr<const SpanStore> store_of(std::uint32_t spans) {
  auto store = std::make_shared<SpanStore>();
  add_row(*store, spans, [](std::uint32_t i) {
    return RowSpan{Instant{1000 * i}, Instant{1000 * i + 100 + i % 700}, i % 3, 0};
  });
  index_spans(*store);
  return store;
}

struct Answers {
  std::vector<std::vector<NameStatistics>> tables;
  std::vector<bool> exact;

  NameTables::Heard hear() {
    return [this](const std::vector<NameStatistics>& table, bool is_exact) {
      tables.push_back(table);
      exact.push_back(is_exact);
    };
  }
};

TEST(NameTables, OfFewSpansAreThereAtOnce) {
  const auto store = store_of(1000);
  QObject window;
  NameTables names(&window);
  Answers answers;
  names.ask(store, *store, {0}, Instant{}, Instant{500'000}, answers.hear());
  EXPECT_FALSE(names.running());
  EXPECT_EQ(answers.exact, std::vector<bool>{true});
  EXPECT_EQ(answers.tables[0], range_statistics(*store, {0}, Instant{}, Instant{500'000}));
}

TEST(NameTables, OfManySpansComeTwiceAndEndExact) {
  const auto store = store_of(300'000);
  const Instant end{store->end.back()};
  QObject window;
  NameTables names(&window);
  Answers unheard, answers;
  names.ask(store, *store, {0}, Instant{}, end, unheard.hear());
  names.ask(store, *store, {0}, Instant{1000}, end, answers.hear());
  EXPECT_TRUE(answers.tables.empty()) << "the window does not wait";
  while (names.running()) QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
  EXPECT_TRUE(unheard.tables.empty()) << "a newer question ends the older one";
  ASSERT_EQ(answers.exact, (std::vector<bool>{false, true}));
  EXPECT_EQ(answers.tables[1], range_statistics(*store, {0}, Instant{1000}, end));
  ASSERT_EQ(answers.tables[0].size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(answers.tables[0][i].sum, answers.tables[1][i].sum);
}

}  // namespace
}  // namespace trainyard
