#include "core/reliability/goodput.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "core/lowering/lower.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"
#include "core/validation/bands.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

using testing::refusal;

GoodputSubject subject_of(const char* model, const char* cluster,
                          const std::vector<const char*>& settings) {
  Scenario s{zoo_model(model), parse_cluster(cluster), {}};
  for (const char* one : settings) apply_setting(s.plan, one);
  const Workload workload = prepare(s);
  return goodput_subject(workload, banded_estimate(workload, *physical_cost_model(s)));
}

const GoodputSubject& llama_405b() {
  static const GoodputSubject subject =
      subject_of("llama-3.1-405b", "h100-sxm:16384",
                 {"tp=8", "pp=16", "split=7,8,8,8,8,8,8,8,8,8,8,8,8,8,8,7", "zero=1", "seq=8192",
                  "global-batch=2048"});
  return subject;
}

const GoodputSubject& small_subject() {
  static const GoodputSubject subject =
      subject_of("llama-3-8b", "h100-sxm:64", {"tp=2", "zero=1", "global-batch=128"});
  return subject;
}

const GoodputSubject& tables_subject() {
  static const GoodputSubject subject = subject_of("dlrm-tiny", "h100-sxm:16", {"global-batch=64"});
  return subject;
}

double log_between(double low, double high) {
  return low * std::pow(high / low, *rc::gen::inRange(0, 1'000'001) / 1e6);
}

GoodputQuestion drawn_question() {
  GoodputQuestion q;
  q.work = log_between(1e9, 1e13);
  q.mtbf = log_between(1e4, 1e7);
  q.recovery = *rc::gen::element(Recovery::Full, Recovery::Asynchronous, Recovery::Peers);
  q.storage = {{log_between(1e8, 1e11)}, {log_between(1e9, 1e13)}};
  q.detection = log_between(1, 1000), q.scheduling = log_between(1, 1000);
  if (*rc::gen::arbitrary<bool>()) q.spares = *rc::gen::inRange<std::int64_t>(0, 20);
  q.weeks = 1;
  return q;
}

TEST(FailureRates, OfLlama3AreItsTable) {
  const FailureRecord& record = failure_record("llama-3");
  EXPECT_EQ(record.stops(), 419);
  EXPECT_NEAR(mean_time_between_failures(record.rate(), 16384) / 3600, 54.0 * 24 / 419, 1e-9);
  EXPECT_NEAR(mean_time_between_failures(record.rate(), 8192) / 3600, 2 * 54.0 * 24 / 419, 1e-9);
  EXPECT_EQ(&record, &failure_records().front());
}

// Kokolis et al. state what their rates mean for 16 384 devices of RSC-1: 1.8 h.
TEST(FailureRates, OfRsc1AreItsTimeBetweenFailures) {
  EXPECT_NEAR(mean_time_between_failures(failure_record("rsc-1").rate(), 16384) / 3600, 1.8, 0.05);
}

TEST(FailureRates, AnUnknownRecordIsRefusedWithTheNearest) {
  EXPECT_EQ(refusal([] { failure_record("lama-3"); }),
            "no record of failures is called \"lama-3\"; did you mean \"llama-3\"?");
}

// Mixed precision of Adam: 2 bytes of weights, 4 of master weights and 8 of moments.
TEST(CheckpointBytesOf, AModelAreFourteenForEachParameter) {
  for (const GoodputSubject* subject : {&small_subject(), &llama_405b()}) {
    const auto parameters = static_cast<double>(subject->result.parameters);
    EXPECT_NEAR(static_cast<double>(subject->bytes.weights.value) / parameters, 2, 1e-6);
    EXPECT_NEAR(static_cast<double>(subject->bytes.optimizer.value) / parameters, 12, 1e-6);
    const auto devices = static_cast<double>(subject->scenario.cluster.count);
    EXPECT_GE(static_cast<double>(subject->bytes.written.value) * devices,
              static_cast<double>(subject->bytes.total().value) * (1 - 1e-6));
    EXPECT_GE(subject->bytes.read, subject->bytes.written);
  }
}

// However replicas divide the state, its bytes are the same.
TEST(CheckpointBytesOf, AModelAreTheSameForEachShardingOfState) {
  Bytes total{};
  for (const char* zero : {"zero=0", "zero=1", "zero=2"}) {
    const GoodputSubject subject =
        subject_of("llama-3-8b", "h100-sxm:64", {"tp=2", zero, "global-batch=128"});
    if (total.value > 0) {
      EXPECT_EQ(subject.bytes.total(), total) << zero;
    }
    total = subject.bytes.total();
  }
}

// Each of eight replicas has residuals of its own, 4 bytes for each weight; where replicas make
// steps of their own, each has all its state, and easgd's centre is alike on all.
TEST(CheckpointBytesOf, ReplicasHaveWhatIsTheirOwn) {
  const auto per_parameter = [](std::vector<const char*> settings) {
    settings.insert(settings.end(), {"global-batch=64", "optimizer=momentum", "precision=fp32"});
    const GoodputSubject subject = subject_of("gpt2", "h100-sxm:8", settings);
    return static_cast<double>(subject.bytes.total().value) /
           static_cast<double>(subject.result.parameters);
  };
  constexpr double kPlain = 8;  // a weight and its velocity
  EXPECT_NEAR(per_parameter({"dp=8"}), kPlain, 1e-6);
  EXPECT_NEAR(per_parameter({"dp=8", "compression=topk"}), kPlain + 8 * 4, 1e-6);
  EXPECT_NEAR(per_parameter({"dp=8", "sync=local-sgd"}), 8 * kPlain, 1e-6);
  EXPECT_NEAR(per_parameter({"dp=8", "sync=easgd"}), 8 * kPlain + 4, 1e-6);
}

// The published effective training time is "higher than 90 %" (The Llama 3 Herd of Models, section
// 3.3.4). The rate of failures is that run's own count; storage is its storage; the times of a
// restart are those of other clusters, and nothing is fitted to the 90 %.
TEST(Goodput, OfLlama3IsWithinThreePointsOfThePublishedNinety) {
  GoodputQuestion q;
  q.work = 15.6e12;
  const GoodputAnswer a = goodput(llama_405b(), q);
  EXPECT_NEAR(a.training.mtbf / 3600, 3.09, 0.01);
  EXPECT_NEAR(a.goodput.value, 0.90, 0.03);
  EXPECT_LE(a.goodput.low, a.goodput.value);
  EXPECT_GE(a.goodput.high, a.goodput.value);
  EXPECT_LT(a.goodput.high - a.goodput.low, 0.03);
  // There are as many stops a day as were counted.
  EXPECT_NEAR(a.stops / (a.cost.seconds.value / 86400), 419 / 54.0, 1e-9);
}

// Neither cluster trained that model: their rates lie on both sides of its own.
TEST(Goodput, OfLlama3WithRatesOfOtherClustersLiesOnBothSides) {
  GoodputQuestion q;
  q.work = 15.6e12;
  const double own = goodput(llama_405b(), q).goodput.value;
  q.record = "rsc-1";
  EXPECT_LT(goodput(llama_405b(), q).goodput.value, own);
  q.record = "rsc-2";
  EXPECT_GT(goodput(llama_405b(), q).goodput.value, own);
}

void expect_equal(const TrainingCost& a, const TrainingCost& b) {
  EXPECT_EQ(a.steps, b.steps);
  EXPECT_EQ(a.seconds.value, b.seconds.value);
  EXPECT_EQ(a.seconds.low, b.seconds.low);
  EXPECT_EQ(a.seconds.high, b.seconds.high);
  ASSERT_TRUE(a.energy && b.energy && a.money && b.money);
  EXPECT_EQ(a.energy->value, b.energy->value);
  EXPECT_EQ(a.energy->high, b.energy->high);
  EXPECT_EQ(a.money->value, b.money->value);
  EXPECT_EQ(a.money->low, b.money->low);
}

TEST(Goodput, WithoutFailuresATrainingCostsWhatItsStepsCost) {
  GoodputQuestion q;
  q.record = "none";
  for (const Recovery recovery : {Recovery::Full, Recovery::Asynchronous, Recovery::Peers}) {
    q.recovery = recovery;
    const GoodputAnswer a = goodput(small_subject(), q);
    EXPECT_EQ(a.goodput.value, 1);
    EXPECT_TRUE(std::isinf(a.interval));
    EXPECT_EQ(a.stops, 0);
    expect_equal(a.cost, training_cost(phases_of(small_subject().result), q.work));
  }
}

TEST(Goodput, PhasesOfARampAddUpToTheTraining) {
  GoodputSubject subject = small_subject();
  PricedPhase first = phases_of(subject.result).front(), full = first;
  first.phase = {.batch = 64, .steps = 1000};
  first.work /= 2;
  full.phase.batch = 128;
  subject.result.ramp = {first, full};
  GoodputQuestion q;
  q.work = 1e11;
  const GoodputAnswer a = goodput(subject, q);
  ASSERT_EQ(a.phases.size(), 2u);
  EXPECT_EQ(a.phases[0].batch, 64);
  EXPECT_NEAR(
      (a.phases[0].cost.seconds.value + a.phases[1].cost.seconds.value) / a.cost.seconds.value, 1,
      1e-12);
  EXPECT_NEAR((a.phases[0].cost.energy->value.value + a.phases[1].cost.energy->value.value) /
                  a.cost.energy->value.value,
              1, 1e-12);
  q.work = 1e6;  // ends within the ramp
  EXPECT_EQ(goodput(subject, q).phases.size(), 1u);
}

RC_GTEST_PROP(GoodputLaws, MoreFailuresNeverRaiseItAndFasterStorageNeverLowersIt, ()) {
  const GoodputQuestion q = drawn_question();
  const double now = goodput(small_subject(), q).goodput.value;
  RC_ASSERT(now > 0 && now < 1);
  const auto after = [&](auto change) {
    GoodputQuestion changed = q;
    change(changed);
    return goodput(small_subject(), changed).goodput.value;
  };
  const double times = log_between(1.01, 5);
  RC_ASSERT(after([&](GoodputQuestion& c) { *c.mtbf /= times; }) < now);
  RC_ASSERT(after([&](GoodputQuestion& c) { c.storage.node.value *= times; }) >= now - 1e-12);
  RC_ASSERT(after([&](GoodputQuestion& c) { c.storage.all.value *= times; }) >= now - 1e-12);
  RC_ASSERT(after([&](GoodputQuestion& c) { c.detection *= times; }) < now);
  RC_ASSERT(after([&](GoodputQuestion& c) { c.spares = c.spares.value_or(kMostSpares - 1) + 1; }) >=
            now - 1e-12);
}

RC_GTEST_PROP(GoodputLaws, TheBestIntervalIsBestAndDearerTrainingsTakeLonger, ()) {
  GoodputQuestion q = drawn_question();
  const GoodputAnswer a = goodput(small_subject(), q);
  RC_ASSERT(a.cost.seconds.value >= a.undisturbed.seconds.value);
  RC_ASSERT(a.cost.money->value >= a.undisturbed.money->value);
  RC_ASSERT(a.cost.energy->value >= a.undisturbed.energy->value);
  RC_ASSERT(std::abs(a.cost.seconds.value * a.goodput.value / a.undisturbed.seconds.value - 1) <
            1e-9);
  q.interval = std::max(a.least, a.interval * log_between(0.1, 10));
  RC_ASSERT(goodput(small_subject(), q).goodput.value <= a.goodput.value + 1e-12);
  for (std::size_t i = 1; i < a.curve.size(); ++i)
    RC_ASSERT(a.curve[i].interval > a.curve[i - 1].interval);
}

TEST(Goodput, DrawnWeeksAreNearTheExactShare) {
  GoodputQuestion q;
  q.weeks = kMostWeeks;
  q.work = 15.6e12;
  q.spares = 60;
  for (const Recovery recovery : {Recovery::Full, Recovery::Asynchronous, Recovery::Peers}) {
    q.recovery = recovery;
    const GoodputAnswer a = goodput(llama_405b(), q);
    EXPECT_NEAR(a.drawn.goodput(), a.goodput.value, 0.004) << to_string(recovery);
  }
}

TEST(Goodput, ALeverThatHalvesWhatIsLostHalvesIt) {
  GoodputQuestion q;
  q.storage = {{2e7}, {1e12}};
  const GoodputAnswer a = goodput(small_subject(), q);
  const auto storage = std::find_if(a.levers.begin(), a.levers.end(), [](const GoodputLever& one) {
    return one.name == "storage twice as fast";
  });
  ASSERT_NE(storage, a.levers.end());
  const double halves_at = storage->halves_at.value_or(0);
  ASSERT_GT(halves_at, 1);
  q.storage = {{2e7 * halves_at}, {1e12 * halves_at}};
  EXPECT_NEAR((1 - goodput(small_subject(), q).goodput.value) / (1 - a.goodput.value), 0.5, 1e-6);
  q.storage = {{4e7}, {2e12}};
  EXPECT_DOUBLE_EQ(goodput(small_subject(), GoodputQuestion(q)).goodput.value, storage->goodput);
}

TEST(Goodput, PartialRecoveryNeedsTablesAndKeepsItsPortionOfLostSamples) {
  GoodputQuestion q;
  q.recovery = Recovery::Partial;
  q.work = 1e12;
  try {
    goodput(small_subject(), q);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.place().text, "recovery");
    EXPECT_NE(std::string(error.what()).find("embedding tables"), std::string::npos);
  }
  const GoodputAnswer a = goodput(tables_subject(), q);
  EXPECT_NEAR(a.lost_samples.value_or(0), q.portion, 1e-12);
  EXPECT_EQ(a.lost.repeating, 0);
  q.recovery = Recovery::Full;
  EXPECT_GT(a.goodput.value, goodput(tables_subject(), q).goodput.value);
}

// As CPR does: where more samples would be lost than may be, and where saves for few lost ones cost
// more than work that is done again.
TEST(Goodput, PartialRecoveryFallsBackToFull) {
  GoodputQuestion q;
  q.recovery = Recovery::Partial;
  q.work = 1e12;
  const GoodputAnswer partial = goodput(tables_subject(), q);
  EXPECT_TRUE(partial.fallback.empty());
  const auto falls_back = [&](const GoodputQuestion& asked) {
    GoodputQuestion full = asked;
    full.recovery = Recovery::Full;
    const GoodputAnswer a = goodput(tables_subject(), asked), b = goodput(tables_subject(), full);
    EXPECT_EQ(a.question.recovery, Recovery::Full);
    EXPECT_FALSE(a.lost_samples);
    EXPECT_EQ(a.goodput.value, b.goodput.value);
    EXPECT_EQ(a.interval, b.interval);
    const std::vector<std::string> sentences = goodput_sentences(a);
    EXPECT_NE(std::find(sentences.begin(), sentences.end(), a.fallback), sentences.end());
    return a.fallback;
  };
  q.interval = partial.interval * 1.01;
  EXPECT_NE(falls_back(q).find("more than the 10"), std::string::npos);
  q.interval = partial.interval;
  EXPECT_TRUE(goodput(tables_subject(), q).fallback.empty());
  q.interval = std::nullopt;
  // The portion at which both leave as much is between these.
  double least = 1e-15, most = q.portion;
  for (int halving = 0; halving < 30; ++halving) {
    q.portion = std::sqrt(least * most);
    (goodput(tables_subject(), q).fallback.empty() ? most : least) = q.portion;
  }
  q.portion = least;
  EXPECT_NE(falls_back(q), "");
  q.portion = most;
  const GoodputAnswer a = goodput(tables_subject(), q);
  EXPECT_EQ(a.question.recovery, Recovery::Partial);
  q.recovery = Recovery::Full;
  EXPECT_GE(a.goodput.value, goodput(tables_subject(), q).goodput.value);
}

TEST(Goodput, WhatIsWrongIsRefusedWhereItIs) {
  const auto refused = [](auto change) {
    GoodputQuestion q;
    change(q);
    return refusal([&] { goodput(small_subject(), q); });
  };
  EXPECT_EQ(refused([](GoodputQuestion& q) { q.work = 0; }),
            "tokens: expected an amount of work above 0, found 0");
  EXPECT_EQ(refused([](GoodputQuestion& q) { q.mtbf = -1; }),
            "mtbf: expected a time between failures above 0, found -1");
  EXPECT_EQ(refused([](GoodputQuestion& q) { q.spares = -1; }),
            "spares: expected a number from 0 to 100000, found -1");
  EXPECT_EQ(refused([](GoodputQuestion& q) { q.weeks = 521; }),
            "weeks: expected a number from 1 to 520, found 521");
  EXPECT_EQ(refused([](GoodputQuestion& q) { q.portion = 1; }),
            "lost-samples: expected a portion between 0 and 1, found 1");
  EXPECT_EQ(refused([](GoodputQuestion& q) { q.mtbf = 1e4, q.repair = 1e10; }),
            "repair: expected at most 100000 nodes that are repaired at once, found 1e+06 that "
            "fail in 115741 days");
  EXPECT_EQ(refused([](GoodputQuestion& q) {
              q.mtbf = 100, q.weeks = 520, q.repair = 1, q.detection = 0, q.scheduling = 1;
              q.storage = {{1e15}, {1e18}};
            }),
            "weeks: expected weeks with at most 2000000 failures, found 3.14e+06");
  EXPECT_NE(refused([](GoodputQuestion& q) { q.interval = 1e-3; }).find("a step takes that long"),
            std::string::npos);
  EXPECT_NE(refused([](GoodputQuestion& q) {
              q.recovery = Recovery::Asynchronous;
              q.storage.node = {1e6};
              q.interval = 60;
            }).find("must have left before the next one begins"),
            std::string::npos);
}

TEST(Goodput, AJobThatNeverGetsAheadIsRefused) {
  GoodputQuestion q;
  q.mtbf = 10;
  try {
    goodput(small_subject(), q);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.place().text, "mtbf");
  }
}

TEST(Goodput, AnIntervalThatIsTooLongIsBlamedAndNotTheFailures) {
  GoodputQuestion q;
  q.mtbf = 3600;
  q.detection = q.scheduling = 0;
  q.interval = 1e7;
  try {
    goodput(small_subject(), q);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.place().text, "interval");
  }
  q.interval.reset();
  EXPECT_GT(goodput(small_subject(), q).goodput.value, 0.5);
}

TEST(Goodput, TheLongestPartOfARestartIsBlamedWhereNoTimeBetweenFailuresIsGiven) {
  GoodputQuestion q;
  q.scheduling = 1e12;
  try {
    goodput(small_subject(), q);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.place().text, "scheduling");
  }
}

}  // namespace
}  // namespace trainyard
