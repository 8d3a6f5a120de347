// Tests the pictures of waiting, staleness and threads: that they hold what was found.
#include "visualizers/synchrony/synchrony_view.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/visualizers/labels.h"
#include "visualizers/chart/staleness_histogram.h"

namespace trainyard {
namespace {

using testing::says;

SynchronyModel of_replicas(std::int64_t replicas) {
  StragglingQuestion question;
  question.replicas = replicas;
  return {straggling_answer(question), nullptr, SynchronyPicture::Waiting};
}

HogwildStudy measured() {
  HogwildStudy study;
  study.question.threads = 2;
  study.cores = 2;
  for (const bool dense : {false, true})
    for (const Sharing how : {Sharing::Alone, Sharing::Locked, Sharing::Hogwild})
      for (const int threads : {1, 2}) {
        if (how == Sharing::Alone && threads > 1) continue;
        study.rows.push_back({dense, how, threads, 1e6 * threads, 0.9 * threads, 0.25, 1.01});
      }
  return study;
}

TEST(SynchronyView, WaitingHasACurveForEveryWay) {
  const SynchronyModel model = of_replicas(64);
  const Drawing drawing = synchrony_picture(model);
  for (const char* words : {"wait in every step", "wait once in 10 steps", "never wait", "Gumbel"})
    EXPECT_TRUE(says(drawing, words)) << words;
  const DataTable table = synchrony_table(model);
  EXPECT_EQ(table.rows, model.replicas.rows.size());
  EXPECT_NE(describe_synchrony(model, {ItemKind::Dot, 0}).title.find("2 replicas: 1."),
            std::string::npos)
      << describe_synchrony(model, {ItemKind::Dot, 0}).title;
  EXPECT_EQ(describe_synchrony(model, {ItemKind::Dot, 4096 * 4}).title, "");
}

TEST(SynchronyView, SaysWhatDrawnStepsTakeBesideTheFormula) {
  StragglingQuestion question;
  question.throttled = 3, question.exchange = 0.5;
  const SynchronyModel model{straggling_answer(question), nullptr, SynchronyPicture::Waiting};
  std::string all;
  for (const std::string& sentence : synchrony_sentences(model)) all += sentence + "\n";
  EXPECT_NE(all.find("Drawn steps take 3."), std::string::npos) << all;
  EXPECT_NE(all.find("exchanges of meetings are counted"), std::string::npos) << all;
}

TEST(SynchronyView, StalenessHasABarForEveryRange) {
  SynchronyModel model = of_replicas(8);
  model.picture = SynchronyPicture::Staleness;
  const Drawing drawing = synchrony_picture(model);
  EXPECT_TRUE(says(drawing, "expected 7"));
  const DataTable table = synchrony_table(model);
  const auto bars = std::count_if(drawing.marks.begin(), drawing.marks.end(),
                                  [](const Mark& m) { return m.style.item.kind == ItemKind::Dot; });
  EXPECT_EQ(static_cast<std::size_t>(bars), table.rows);
  EXPECT_NE(describe_synchrony(model, {ItemKind::Dot, 0}).title.find("of updates"),
            std::string::npos);
}

TEST(SynchronyView, ThreadsAreDrawnOnceTheyAreMeasured) {
  SynchronyModel model = of_replicas(8);
  model.picture = SynchronyPicture::Threads;
  EXPECT_TRUE(synchrony_sentences(model).empty());
  EXPECT_EQ(synchrony_table(model).rows, 0u);
  model.threads = std::make_shared<const HogwildStudy>(measured());
  const Drawing drawing = synchrony_picture(model);
  for (const char* words : {"few features, no locks", "all features, one lock", "2 cores"})
    EXPECT_TRUE(says(drawing, words)) << words;
  EXPECT_EQ(synchrony_table(model).rows, 10u);
  EXPECT_EQ(describe_synchrony(model, {ItemKind::Dot, 1}).title,
            "2 threads: 1.8 times, few features, no locks");
  EXPECT_NE(synchrony_sentences(model).front().find("1.80 times"), std::string::npos);
}

TEST(SynchronyView, NothingCountedIsATitleAlone) {
  Drawing drawing({200, 100});
  draw_staleness(drawing, whole(drawing.size), "Nothing", {}, 3);
  EXPECT_EQ(drawing.labels.size(), 1u);
}

}  // namespace
}  // namespace trainyard
