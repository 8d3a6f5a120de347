// Tests the comparison of two results: everything sums, signs follow the direction, swapping
// reverses every change, and the files say the same as the comparison.
#include "app/workspace/comparison/comparison.h"

#include <gtest/gtest.h>

#include <filesystem>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "app/workspace/comparison/comparison_files.h"
#include "core/base/error.h"
#include "core/io/documents/result_json.h"
#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"
#include "visualizers/drawing/svg.h"

namespace trainyard {
namespace {

Request base() { return {"gpt-tiny", "cpu:4", "", {"global-batch=8", "precision=fp32"}}; }

const ResultComparison& pipeline_against_data() {
  static const ResultComparison c =
      compare_results(open_compared("pp=4", base()), open_compared("dp=4", base()));
  return c;
}

TEST(ComparedResults, TheWaterfallsSumToTheDifferenceOfTheirEnds) {
  const ResultComparison& c = pipeline_against_data();
  for (const WaterfallModel* w : {&c.time, &c.memory}) {
    std::int64_t sum = 0;
    for (const WaterfallPart& part : w->parts) sum += part.change();
    EXPECT_EQ(sum, w->b() - w->a());
    EXPECT_FALSE(w->parts.empty());
  }
  const double step = static_cast<double>(c.time.b() - c.time.a()) / 1e9;
  EXPECT_NEAR(step, *c.b.step - *c.a.step, 1e-7);
}

TEST(ComparedResults, WhatChangedMostComesFirst) {
  const ResultComparison& c = pipeline_against_data();
  EXPECT_TRUE(std::is_sorted(c.time.parts.begin(), c.time.parts.end(),
                             [](const WaterfallPart& x, const WaterfallPart& y) {
                               return std::abs(x.change()) > std::abs(y.change());
                             }));
}

TEST(ComparedResults, FiguresAreThoseOfTheResults) {
  const ResultComparison& c = pipeline_against_data();
  const Result& result = c.a.experiment->result;
  const auto figure = [&](const std::string& key) {
    const auto found = std::find_if(c.figures.begin(), c.figures.end(),
                                    [&](const ComparedFigure& f) { return f.key == key; });
    EXPECT_NE(found, c.figures.end()) << key;
    return found == c.figures.end() ? ComparedFigure{} : *found;
  };
  EXPECT_DOUBLE_EQ(*figure("step").a, to_seconds(result.step.value));
  EXPECT_DOUBLE_EQ(*figure("mfu").a, result.mfu);
  EXPECT_DOUBLE_EQ(*figure("bubble").a, result.bubble_fraction);
  EXPECT_DOUBLE_EQ(*figure("exposed_communication").a, result.exposed_communication_fraction);
  EXPECT_TRUE(figure("peak").a);
}

TEST(ComparedResults, ARingAnswersForEveryRankWhereBothHaveAsMany) {
  EXPECT_TRUE(pipeline_against_data().ranks.ranks.empty());  // four stages and one
  const ResultComparison c = compare_results(open_compared("pp=4 schedule=1f1b", base()),
                                             open_compared("pp=4 schedule=gpipe", base()));
  ASSERT_EQ(c.ranks.ranks.size(), 4U);
  EXPECT_EQ(c.ranks.ranks[1].name, "Stage 1");
  EXPECT_LT(c.ranks.ranks[0].peak_a, c.ranks.ranks[0].peak_b);  // 1F1B holds fewer microbatches
  ASSERT_TRUE(c.fields);
  ASSERT_EQ(c.fields->fields.size(), 1U);
  EXPECT_EQ(c.reasons.back(), "What differs: schedule 1f1b to gpipe.");
}

TEST(ComparedResults, SwappingTurnsEverySignRound) {
  const ResultComparison& c = pipeline_against_data();
  const ResultComparison other = compare_results(c.b, c.a);
  EXPECT_EQ(other.time.b() - other.time.a(), c.time.a() - c.time.b());
  const auto cards = figure_cards(c), swapped = figure_cards(other);
  ASSERT_EQ(cards.size(), swapped.size());
  for (std::size_t i = 0; i < cards.size(); ++i) {
    EXPECT_EQ(cards[i].a, swapped[i].b);
    if (cards[i].judgement == Judgement::Same) continue;
    EXPECT_NE(cards[i].up, swapped[i].up);
    EXPECT_NE(cards[i].judgement, swapped[i].judgement);
  }
}

TEST(ComparedResults, AResultAgainstItselfHasNoDifference) {
  const ComparedResult& a = pipeline_against_data().a;
  const ResultComparison c = compare_results(a, a);
  EXPECT_EQ(c.time.a(), c.time.b());
  for (const FigureCard& card : testing::non_empty(figure_cards(c))) {
    EXPECT_EQ(card.judgement, Judgement::Same) << card.title;
    EXPECT_EQ(card.change, "no change") << card.title;
  }
  EXPECT_EQ(c.headline.rfind("Both take ", 0), 0U) << c.headline;
  EXPECT_TRUE(c.fields && c.fields->fields.empty());
}

TEST(ComparedResults, TheHeadlineSaysWhoIsQuickerAndWhetherItFits) {
  const ResultComparison& c = pipeline_against_data();
  const bool quicker = *c.b.step < *c.a.step;
  EXPECT_NE(c.headline.find(quicker ? "% less time" : "% more time"), std::string::npos)
      << c.headline;
  EXPECT_NE(c.headline.find("fits"), std::string::npos);
  ASSERT_FALSE(c.reasons.empty());
  EXPECT_EQ(c.reasons.front().rfind(quicker ? "B wins by " : "A wins by ", 0), 0U)
      << c.reasons.front();
}

TEST(ComparedResults, ADocumentSaysTheSameAsTheExperimentThatWroteIt) {
  const ComparedResult& a = pipeline_against_data().a;
  const ComparedResult read = compared_document(to_json(a.experiment->result), "result.json");
  EXPECT_EQ(read.step, a.step);
  EXPECT_EQ(read.peak, a.peak);
  EXPECT_EQ(read.seconds.list, a.seconds.list);
  EXPECT_FALSE(read.experiment);
  const ResultComparison c = compare_results(read, pipeline_against_data().b);
  EXPECT_TRUE(c.ranks.ranks.empty());
  EXPECT_FALSE(c.fields);
}

std::string refusal_with(const std::string& key, const Json& value) {
  Json json = to_json(pipeline_against_data().a.experiment->result);
  json.set(key, value);
  return testing::refusal([&] { compared_document(json, "r.json"); });
}

TEST(ComparedResults, NoQuantityIsBelievedThatCannotBe) {
  Json step = Json::object(), negative = Json::object();
  step.set("value", 1e308), negative.set("forward", -1.0);
  EXPECT_EQ(refusal_with("step_seconds", step),
            "r.json#/step_seconds/value: expected seconds from 0 to 9.2e+09, found 1e+308");
  EXPECT_EQ(refusal_with("step_seconds", Json(-1)),
            "r.json#/step_seconds: expected seconds from 0 to 9.2e+09, found -1");
  EXPECT_EQ(refusal_with("mfu", Json(99)), "r.json#/mfu: expected a share from 0 to 1, found 99");
  EXPECT_EQ(refusal_with("bubble_fraction", Json(1.5)),
            "r.json#/bubble_fraction: expected a share from 0 to 1, found 1.5");
  EXPECT_EQ(refusal_with("breakdown_seconds", negative),
            "r.json#/breakdown_seconds/forward: expected seconds from 0 to 9.2e+09, found -1");
  negative.set("forward", 9e9), negative.set("backward", 9e9);
  EXPECT_EQ(refusal_with("breakdown_seconds", negative),
            "r.json#/breakdown_seconds: expected seconds that sum to at most 9.2e+09, found "
            "1.8e+10");
  for (const char* key : {"tokens_per_second", "energy_joules", "money"})
    EXPECT_NE(refusal_with(key, Json(-1)).find("expected an amount from 0"), std::string::npos)
        << key;
}

TEST(ComparedResults, WordsThatNameNothingAreRefused) {
  EXPECT_TRUE(names_runs("run:7") && names_runs("run:7..9") && names_runs("runs:tag:good"));
  EXPECT_FALSE(names_runs("pp=2"));
  const std::string path = ::testing::TempDir() + "compared-runs.sqlite";
  std::filesystem::remove(path);
  RunStore store(path);
  EXPECT_EQ(runs_named("run:7", store), (std::vector<std::int64_t>{7}));
  for (const char* word : {"run:", "run:0", "run:-1", "run:7x", "run:7..", "run:..7", "run:9..7",
                           "run:7..9", "runs:", "runs:tag:none"})
    EXPECT_THROW(runs_named(word, store), Error) << word;
  RecordedRun run;
  run.entry.name = "mlp";
  for (int i = 0; i < 4; ++i) store.add(run);
  store.add_tag(2, "good"), store.add_tag(4, "good");
  EXPECT_EQ(runs_named("run:2..3", store), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(runs_named("run:3..90", store), (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(runs_named("runs:tag:good", store), (std::vector<std::int64_t>{2, 4}));
  EXPECT_THROW(open_compared("published:none-such", base()), Error);
  EXPECT_THROW(open_compared("no-such-file.json", base()), Error);
}

// Rows of as many cells as the header has; differences are those of their cells.
TEST(ComparedResults, TheSpreadsheetHasEveryPart) {
  std::istringstream lines(comparison_csv(pipeline_against_data()));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "part,name,unit,a,b,difference");
  int seconds = 0;
  while (std::getline(lines, line)) {
    if (line.find('"') != std::string::npos) continue;
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), 5) << line;
    seconds += line.rfind("seconds,", 0) == 0;
  }
  EXPECT_EQ(static_cast<std::size_t>(seconds), pipeline_against_data().time.parts.size() + 1);
}

TEST(ComparedResults, ThePageNeedsNothingElse) {
  const std::string html =
      comparison_html(pipeline_against_data(), "a <note> & more", Theme::Light);
  EXPECT_NE(html.find("a &lt;note&gt; &amp; more"), std::string::npos);
  EXPECT_NE(html.find("<svg"), std::string::npos);
  for (const char* other : {"<script", "<link", "src=", "href=\"http"})
    EXPECT_EQ(html.find(other), std::string::npos) << other;
}

TEST(ComparedResults, ThePictureIsTheSameTwice) {
  const std::string svg = to_svg(comparison_picture(pipeline_against_data()), Theme::Dark);
  EXPECT_EQ(svg, to_svg(comparison_picture(pipeline_against_data()), Theme::Dark));
  EXPECT_NE(svg.find("pp=4"), std::string::npos);
}

}  // namespace
}  // namespace trainyard
