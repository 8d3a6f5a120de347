#include "visualizers/recorded/recorded_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/io/traces/chrome_trace_import.h"
#include "tests/support/kineto_trace.h"
#include "tests/support/non_empty.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

std::shared_ptr<const RecordedModel> sample(int steps = 3) {
  return recorded_model(parse_chrome_trace(kineto_trace({.steps = steps}), "t.json"));
}

TEST(RecordedModel, KeepsEverySpanInLanes) {
  const RecordedTrace trace = parse_chrome_trace(kineto_trace(), "t.json");
  const auto m = recorded_model(trace);
  EXPECT_EQ(whole_trace(*m), trace);
  ASSERT_EQ(m->spans.start.size(), trace.start.size());
  std::uint32_t rows = 0;
  for (const RecordedLane& lane : m->lanes) rows += lane.rows;
  EXPECT_EQ(rows, trace.rows.size());
  EXPECT_EQ(std::count_if(m->lanes.begin(), m->lanes.end(),
                          [](const RecordedLane& lane) { return lane.counter.has_value(); }),
            2);
  for (std::uint64_t i = 0; i < trace.start.size(); i += 7) {
    const RecordedPlace place = recorded_place(*m, i);
    const RowSpan span = span_at(m->spans, place.row, place.index);
    EXPECT_EQ(span.start.count(), trace.start[i]);
    EXPECT_EQ(span.name, trace.name[i]);
  }
  EXPECT_NE(spell_recorded(*m).find("the median of 3"), std::string::npos);
}

RecordedSearch search_of(const RecordedModel& m, std::string_view words) {
  return {m, parse_span_query(words)};
}

TEST(RecordedSearch, GoesAroundInOrderOfTime) {
  const auto m = sample();
  const RecordedSearch search = search_of(*m, "REDUCESCATTER");
  const std::uint64_t count = search.count();
  EXPECT_EQ(count, 12u);
  std::optional<std::uint64_t> at = search.next({}, true);
  const std::uint64_t first = at.value();
  for (std::uint64_t i = 1; i < count; ++i) {
    const std::int64_t before = m->spans.start[*at];
    at = search.next(at, true);
    EXPECT_GT(m->spans.start[at.value()], before);
  }
  EXPECT_EQ(search.next(at, true), first);
  EXPECT_EQ(search.next(first, false), at);
  EXPECT_EQ(search_of(*m, "nothing of that name").count(), 0u);
  EXPECT_FALSE(search_of(*m, "nothing of that name").next({}, true));
}

// Compares the result with asking each span by itself.
TEST(RecordedSearch, FindsWhatTheGrammarSays) {
  const auto m = sample();
  std::set<std::uint64_t> counts;
  for (const std::string words :
       {"", "gemm", "-gemm", "cat:host", "-cat:host", "cat:communication,forward", "dev:0",
        "-dev:0", "dev:0 gemm", ">100us", "<=100us", "->100us", "->=100us", ">10us <1ms cat:host",
        "\"gemm\" -dev:1-3"}) {
    const SpanQuery query = parse_span_query(words);
    const RecordedSearch search(*m, query);
    std::uint64_t found = 0;
    for (std::uint32_t row = 0; row < m->spans.rows.size(); ++row) {
      const RecordedThread& thread = m->trace.threads[m->trace.rows[row].thread];
      const int rank = m->trace.processes[thread.process].rank;
      for (std::uint32_t i = 0; i < m->spans.rows[row].count; ++i) {
        const RowSpan span = span_at(m->spans, row, i);
        SpanFacts facts;
        facts.name = m->trace.names[span.name];
        facts.category =
            static_cast<std::uint8_t>(ink_of(static_cast<RecordedKind>(span.category)));
        facts.device = rank >= 0 ? rank : thread.process;
        facts.length = span.end - span.start;
        const bool expected = matches(query, facts);
        EXPECT_EQ(search.finds(row, i), expected) << words << " " << m->trace.names[span.name];
        found += expected ? 1 : 0;
      }
    }
    EXPECT_EQ(search.count(), found) << words;
    counts.insert(found);
  }
  EXPECT_GT(counts.size(), 6u) << "the words find different spans";
}

TEST(RecordedSearch, SaysThatARecordingHasNoMicrobatches) {
  const auto m = sample();
  try {
    search_of(*m, "gemm mb:4");
    ADD_FAILURE() << "found something";
  } catch (const Error& error) {
    EXPECT_EQ(error.place(), Place{"mb:4"});
    EXPECT_NE(std::string(error.what()).find("microbatch"), std::string::npos);
  }
}

// A part is shown from its own beginning to its own end, by the times of the whole.
TEST(RecordedView, APartOfARecordingFillsThePicture) {
  const RecordedTrace whole = parse_chrome_trace(kineto_trace(), "t.json");
  const Instant from{1'000'000}, to{2'000'000};
  const auto m = recorded_model(part_of(whole, from, to));
  EXPECT_EQ(m->begin, from);
  EXPECT_EQ(m->end, to);
  const RecordedLayout l = recorded_layout(*m, {0, 0, 1600, 900}, {});
  for (const Viewport& view : {l.whole, l.shown}) {
    EXPECT_EQ(view.from, from);
    EXPECT_EQ(view.to, to);
  }
  Duration sum{};
  for (const RecordedShare& s : m->shares) sum += s.compute + s.communication + s.transfer + s.idle;
  EXPECT_EQ(sum, (to - from) * static_cast<std::int64_t>(m->shares.size()));
  EXPECT_TRUE(spell_recorded(*m).starts_with("Recorded trace of " + spell_duration(to - from) +
                                             ", from " + spell_duration(from) + " on, of " +
                                             spell_duration(end_of(whole)) + ", "))
      << spell_recorded(*m);
}

TEST(RecordedView, EverySpanIsHitWhereItIsDrawn) {
  const auto m = sample(1);
  const Rect area{0, 0, 1600, 900};
  Drawing drawing({area.width, area.height});
  const ViewState state;
  draw_recorded(drawing, area, *m, state);
  int spans = 0;
  for (const Mark& mark : testing::non_empty(drawing.marks))
    for (std::uint32_t i = mark.first; mark.kind == MarkKind::Strip && i < mark.first + mark.count;
         ++i) {
      const Tile& tile = drawing.tiles[i];
      if (tile.item != ItemKind::Span || tile.rect.width < 4) continue;
      const Point middle{tile.rect.x + tile.rect.width / 2, tile.rect.y + tile.rect.height / 2};
      if (middle.x < 140 || middle.x > 1580) continue;
      const Item item = hit(drawing, middle);
      EXPECT_EQ(item.kind, ItemKind::Span);
      EXPECT_EQ(item.tag, tile.tag);
      const Hover hover = describe_recorded(*m, area, state, item, middle);
      EXPECT_FALSE(hover.title.empty());
      EXPECT_FALSE(hover.value.empty());
      ++spans;
    }
  EXPECT_GT(spans, 20);
}

TEST(RecordedView, TellsMeasuredBesidePredicted) {
  const auto m = sample();
  Drawing drawing({1200, 400});
  draw_recorded(drawing, {0, 0, 1200, 400}, *m, {}, {search_of(*m, "gemm"), m->step + m->step / 4});
  const bool told = std::any_of(drawing.labels.begin(), drawing.labels.end(), [](const Label& l) {
    return l.text.find("−20.0 % of it") != std::string::npos;
  });
  EXPECT_TRUE(told);
}

// Folds of everything at once, and of nothing.
TEST(RecordedView, DrawsAtAnyZoomAndSize) {
  const auto m = sample(40);
  for (const Rect area : {Rect{0, 0, 1, 1}, Rect{0, 0, 60, 40}, Rect{0, 0, 3000, 200}})
    for (const Duration length : {Duration{1}, Duration{1000}, Duration{m->end}}) {
      ViewState state;
      state.shown = TimeRange{Instant{5}, Instant{5} + length};
      state.scroll = 100;
      state.cursor = Instant{7};
      Drawing drawing({area.width, area.height});
      draw_recorded(drawing, area, *m, state);
      EXPECT_LT(drawing.tiles.size(), 40'000u);
    }
  EXPECT_GT(recorded_picture(*m).marks.size(), 10u);
}

}  // namespace
}  // namespace trainyard
