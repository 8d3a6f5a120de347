// Rules on planted numbers: what they find is exact, and so is what they let pass.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "core/rules/rule_run.h"
#include "core/timeline/stragglers.h"

namespace trainyard {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

LookedTensor tensor(TensorRole role, const std::vector<float>& values) {
  LookedTensor t;
  t.role = role;
  t.name = "fc.weight";
  t.matrix = true;
  t.where = "layers 3";
  t.facts = facts_of(values);
  return t;
}

FiredRules judge(const std::string& rules, const RunShown& shown) {
  FiredRules fired;
  for (const ChosenRule& chosen : parse_rules(rules))
    chosen.rule->of_run(chosen.params, shown, fired);
  return fired;
}

RunShown shown_of(const LookedTensor& t, std::int64_t step = 50) {
  RunShown shown;
  Look look;
  look.step = step;
  look.rate = 0.1;
  look.tensors = {t};
  shown.looks.push_back(look);
  return shown;
}

TEST(TensorFacts, AreCountsAndSumsWhateverTheNumberOfElements) {
  for (const std::size_t n : {1u, 15u, 16u, 17u, 1024u, 1500u, 5000u}) {
    std::vector<float> values(n);
    double sum = 0, squares = 0, sizes = 0;
    std::int64_t zeros = 0;
    for (std::size_t i = 0; i < n; ++i) {
      values[i] = static_cast<float>(static_cast<int>(i % 7) - 2);
      const double scaled = 0.5 * static_cast<double>(values[i]);
      sum += scaled, squares += scaled * scaled, sizes += std::abs(scaled);
      zeros += values[i] == 0 ? 1 : 0;
    }
    const TensorFacts facts = facts_of(values, 0.5);
    EXPECT_EQ(facts.elements, static_cast<std::int64_t>(n));
    EXPECT_EQ(facts.zeros, zeros);
    EXPECT_DOUBLE_EQ(facts.sum, sum);
    EXPECT_DOUBLE_EQ(facts.square_sum, squares);
    EXPECT_DOUBLE_EQ(facts.absolute_sum, sizes);
    EXPECT_EQ(facts.low, -1.0f);
    EXPECT_EQ(facts.high, n < 7 ? -1.0f : 2.0f);
  }
}

TEST(TensorFacts, OfPartsAddUpToThoseOfTheWhole) {
  const std::vector<float> all = {1, -2, 0, kNan, 5, INFINITY, 3};
  TensorFacts parts = facts_of(std::span(all).first(2));
  parts += facts_of(std::span(all).subspan(2, 3));
  parts += facts_of(std::span(all).subspan(5));
  const TensorFacts whole = facts_of(all);
  EXPECT_EQ(parts.elements, 7);
  EXPECT_EQ(parts.nans, 1);
  EXPECT_EQ(parts.infinities, 1);
  EXPECT_EQ(parts.zeros, whole.zeros);
  EXPECT_EQ(parts.low, whole.low);
  EXPECT_FALSE(parts.finite());
}

TEST(TensorFacts, OfAnUpdateAreHowFarWeightsMoved) {
  const std::vector<float> before = {1, -2, 0}, after = {1.5, -2, 0.001f};
  const TensorFacts facts = update_facts(before, after);
  EXPECT_NEAR(facts.absolute_sum, 0.501, 1e-6);
  EXPECT_EQ(facts.before_sum, 3);
  EXPECT_NEAR(facts.most_moved, 1.0, 1e-6);  // 0.001 beside the floor of 0.001
  EXPECT_EQ(facts.zeros, 1);                 // -2 stayed
  EXPECT_EQ(update_facts(before, before).zeros, 2);
}

TEST(TensorFacts, UnitsAreFeaturesOrChannels) {
  const std::vector<float> rows = {1, 0, 3, -1};  // two samples of two features
  const std::vector<UnitFacts> units = active_units(rows, 2, 1, {});
  EXPECT_EQ(units[0].active, 2);
  EXPECT_EQ(units[1].active, 0);
  EXPECT_EQ(unit_moments(rows, 2, 1)[0].variance(), 1);
  const std::vector<UnitFacts> channels = unit_moments(rows, 2, 2);
  EXPECT_EQ(channels[0].count, 2);
  EXPECT_EQ(channels[0].sum, 1);
  EXPECT_EQ(channels[1].sum, 2);
  EXPECT_EQ(active_units(rows, 2, 2, {})[1].active, 1);
}

// Numbers that are not finite may stand anywhere in a block, and sums that overflow are none.
TEST(TensorFacts, NumbersThatAreNotFiniteAreCountedWhereverTheyStand) {
  std::vector<float> values(3000, 1);
  values[0] = values[2999] = kNan, values[1023] = INFINITY, values[1040] = -INFINITY;
  for (const FactKinds kinds : {FactKinds::Sizes, FactKinds::All}) {
    const TensorFacts facts = facts_of(values, 1, kinds);
    EXPECT_EQ(facts.nans, 2);
    EXPECT_EQ(facts.infinities, 2);
  }
  const std::vector<float> large(2000, 3e38f), before(2000, -3e38f);
  EXPECT_TRUE(facts_of(large).finite());
  EXPECT_EQ(facts_of(large).high, 3e38f);
  EXPECT_EQ(facts_of(large, 10).infinities, 2000);
  EXPECT_EQ(update_facts(before, large).infinities, 2000);
}

TEST(Rules, AVanishingGradientIsBelowItsLimit) {
  const std::vector<float> small = {1e-8f, -3e-8f}, large = {1e-6f, -3e-8f};
  const FiredRules fired =
      judge("vanishing-gradient", shown_of(tensor(TensorRole::Gradient, small)));
  ASSERT_EQ(fired.size(), 1u);
  EXPECT_NEAR(fired[0].found, 2e-8, 1e-12);
  EXPECT_EQ(fired[0].limit, 1e-7);
  EXPECT_EQ(fired[0].sentence,
            "step 50: the gradient of \"fc.weight\" has a mean size of 2e-08, less than 1e-07, in "
            "layers 3");
  EXPECT_TRUE(judge("vanishing-gradient", shown_of(tensor(TensorRole::Gradient, large))).empty());
  EXPECT_TRUE(judge("vanishing-gradient", shown_of(tensor(TensorRole::Weight, small))).empty());
}

TEST(Rules, ExplodingTensorsMayBeAskedForNumbersThatAreNoneOnly) {
  const RunShown infinite = shown_of(tensor(TensorRole::Weight, {1, INFINITY})),
                 none = shown_of(tensor(TensorRole::Weight, {1, kNan}));
  EXPECT_EQ(judge("exploding-tensor", infinite).size(), 1u);
  EXPECT_TRUE(judge("exploding-tensor.only-nan=on", infinite).empty());
  EXPECT_EQ(judge("exploding-tensor.only-nan=on", none).size(), 1u);
}

// Three of four weights stay, one of which has no gradient: two of three updates are cancelled.
TEST(Rules, CancelledUpdatesAreThoseThatAGradientAskedFor) {
  LookedTensor update = tensor(TensorRole::Update, {}),
               gradient = tensor(TensorRole::Gradient, {1, 1, 0, 1});
  update.facts = update_facts(std::vector<float>{1, 2, 3, 4}, std::vector<float>{1, 2, 3, 5});
  RunShown shown = shown_of(update);
  shown.looks.back().tensors.push_back(gradient);
  const FiredRules fired = judge("cancelled-updates", shown);
  ASSERT_EQ(fired.size(), 1u);
  EXPECT_NEAR(fired[0].found, 200.0 / 3, 1e-9);
  EXPECT_TRUE(judge("cancelled-updates.share=67", shown).empty());
  shown.looks.back().skipped = true;
  EXPECT_TRUE(judge("cancelled-updates", shown).empty());
}

TEST(Rules, AnUpdateIsComparedWithTheWeightsBeforeIt) {
  LookedTensor t = tensor(TensorRole::Update, {});
  t.facts = update_facts(std::vector<float>{1, 1}, std::vector<float>{12.5f, 12.5f});
  const FiredRules fired = judge("weight-update-ratio", shown_of(t));
  ASSERT_EQ(fired.size(), 1u);
  EXPECT_NEAR(fired[0].found, 11.5, 1e-6);
  RunShown resting = shown_of(t);
  resting.looks.back().rate = 0;
  EXPECT_TRUE(judge("weight-update-ratio", resting).empty());
}

TEST(Rules, ALossThatHasFallenMayRiseALittle) {
  const auto losses = [](double first, double middle, double last) {
    RunShown shown;
    for (int i = 0; i < 50; ++i) shown.losses.push_back(i < 10 ? first : i < 30 ? middle : last);
    shown.looks.resize(2);
    shown.looks[0].step = 20, shown.looks[1].step = 50;
    return shown;
  };
  EXPECT_TRUE(judge("loss-not-decreasing", losses(2, 1, 1.04)).empty());
  EXPECT_EQ(judge("loss-not-decreasing", losses(2, 1, 1.06)).size(), 1u);
  EXPECT_EQ(judge("loss-not-decreasing", losses(2, 2, 2)).size(), 1u);
  EXPECT_TRUE(judge("loss-not-decreasing", losses(2, 2, 1.99)).empty());
}

TEST(Rules, OverfitComparesWithTheTrainingLossSinceTheEvaluationBefore) {
  RunShown shown;
  shown.losses = {4, 4, 1, 1, 1, 1};
  shown.looks.resize(1);
  shown.looks[0].step = 6;
  shown.evaluations = {{2, 4.0}, {4, 1.2}};
  EXPECT_TRUE(judge("overfit", shown).empty());  // once is let pass
  shown.evaluations.push_back({6, 1.2});
  const FiredRules fired = judge("overfit", shown);
  ASSERT_EQ(fired.size(), 1u);
  EXPECT_NEAR(fired[0].found, 0.2, 1e-12);
}

TEST(Rules, OvertrainingCountsEvaluationsSinceTheBest) {
  RunShown shown;
  shown.looks.resize(1);
  shown.evaluations = {{1, 2}, {2, 1}, {3, 1}, {4, 1.2}, {5, 0.995}, {6, 1}};
  EXPECT_TRUE(judge("overtraining", shown).empty());
  shown.evaluations.push_back({7, 1});
  EXPECT_EQ(judge("overtraining", shown).size(), 1u);
}

TEST(Rules, MemoryThatGrowsFromLookToLookLeaks) {
  RunShown shown;
  for (const std::int64_t bytes : {10, 11, 12}) {
    Look look;
    look.held = {{0, 0, Bytes{bytes}, Bytes{20}, Bytes{100}}};
    shown.looks.push_back(look);
  }
  EXPECT_EQ(judge("stash-leak", shown).size(), 1u);
  shown.looks[1].held[0].now = Bytes{12};
  EXPECT_TRUE(judge("stash-leak", shown).empty());
  EXPECT_EQ(judge("arena-overflow.share=19", shown).size(), 1u);
  EXPECT_TRUE(judge("arena-overflow", shown).empty());
}

TEST(Rules, ARunThatRepeatsAnEarlierOneHasItsLosses) {
  RunShown shown;
  shown.looks.resize(1);
  for (int i = 0; i < 30; ++i) shown.earlier.push_back(1.0 / (i + 1));
  shown.losses.assign(shown.earlier.begin(), shown.earlier.begin() + 20);
  const std::string rules = "similar-across-runs.run=12";
  const FiredRules fired = judge(rules, shown);
  ASSERT_EQ(fired.size(), 1u);
  EXPECT_NE(fired[0].sentence.find("those of run 12 at the same steps"), std::string::npos);
  shown.losses[11] *= 1.001;
  EXPECT_TRUE(judge(rules, shown).empty());
  EXPECT_EQ(judge(rules + ",similar-across-runs.steps=8", shown).size(), 1u);
  EXPECT_EQ(judge(rules + ",similar-across-runs.tolerance=0.01", shown).size(), 1u);
  // A session that resumed at step 5 is compared with those steps, and none that is longer.
  shown.losses.assign(shown.earlier.begin() + 5, shown.earlier.begin() + 20), shown.first_step = 5;
  EXPECT_EQ(judge(rules, shown).size(), 1u);
  shown.first_step = 16;
  EXPECT_TRUE(judge(rules, shown).empty());
}

TEST(Rules, ATokenMayTakeHalfOfTheTexts) {
  RunShown shown;
  shown.looks.resize(1);
  shown.looks[0].tokens = {{0, 50}, {7, 50}};
  EXPECT_TRUE(judge("nlp-sequence-ratio", shown).empty());
  shown.looks[0].tokens[0] = 51;
  ASSERT_EQ(judge("nlp-sequence-ratio", shown).size(), 1u);
  EXPECT_EQ(judge("nlp-sequence-ratio", shown)[0].where, "token 0");
  EXPECT_EQ(judge("nlp-sequence-ratio.token=7,nlp-sequence-ratio.ratio=40", shown).size(), 1u);
  EXPECT_TRUE(judge("nlp-sequence-ratio.token=8", shown).empty());
}

TEST(RuleRuns, LookAtTheFirstStepAndAtMultiplesOfTheInterval) {
  RuleRun run({usual_rules(), 50, false});
  for (const std::int64_t step : {1, 50, 100}) EXPECT_TRUE(run.looks_at(step)) << step;
  for (const std::int64_t step : {2, 49, 51}) EXPECT_FALSE(run.looks_at(step)) << step;
  run.begin(120);
  EXPECT_TRUE(run.looks_at(121));
}

TEST(RuleRuns, ARuleFiresOnceForOneTensor) {
  RuleRun run({parse_rules("exploding-tensor"), 1, false});
  Look look;
  look.tensors = {tensor(TensorRole::Weight, {kNan})};
  run.add_loss(1);
  EXPECT_TRUE(run.see(look));
  EXPECT_FALSE(run.see(look));
  EXPECT_EQ(run.fired().size(), 1u);
}

// --- rules on timelines ---

TimelineFacts of_devices(const std::vector<std::vector<double>>& busy) {
  TimelineFacts facts;
  for (std::size_t d = 0; d < busy.size(); ++d)
    facts.devices.push_back({static_cast<int>(d), "device " + std::to_string(d), busy[d]});
  return facts;
}

std::set<std::string> names_of(const FiredRules& fired) {
  std::set<std::string> names;
  for (const FiredRule& one : fired) names.insert(one.rule);
  return names;
}

TEST(TimelineRules, UtilisationIsJudgedByPercentilesOfSteps) {
  const std::set<std::string> low = {"low-gpu-utilization"};
  EXPECT_EQ(names_of(judge_timeline(usual_rules(), of_devices({{0.69}, {0.69}}))), low);
  EXPECT_TRUE(judge_timeline(usual_rules(), of_devices({{0.71}, {0.71}})).empty());
  std::vector<double> fluctuates(20, 0.9);
  fluctuates[3] = fluctuates[9] = 0.05;
  EXPECT_EQ(names_of(judge_timeline(usual_rules(), of_devices({fluctuates}))), low);
}

TEST(TimelineRules, DevicesAreApartByTheDistanceOfTheirUtilisation) {
  const FiredRules fired = judge_timeline(parse_rules("load-balancing"),
                                          of_devices({{1.0, 0.9}, {0.4, 0.3}, {0.8, 0.8}}));
  ASSERT_EQ(fired.size(), 1u);
  EXPECT_EQ(fired[0].device, 1);
  EXPECT_NEAR(fired[0].found, 0.6, 1e-12);
}

TEST(TimelineRules, AStepMayWaitForHalfOfItsTime) {
  TimelineFacts facts;
  facts.step = std::chrono::milliseconds(10), facts.input_wait = std::chrono::milliseconds(5);
  EXPECT_TRUE(judge_timeline(usual_rules(), facts).empty());
  facts.input_wait = std::chrono::milliseconds(6);
  EXPECT_EQ(names_of(judge_timeline(usual_rules(), facts)), std::set<std::string>{"io-bottleneck"});
}

TEST(TimelineRules, AStepTakesMoreSamplesWhereNoDeviceIsBusyOrFull) {
  TimelineFacts facts = of_devices({{0.69}, {0.2}});
  facts.memory = {{0, "device 0", Bytes{1000}, Bytes{600}}, {1, "device 1", Bytes{1000}, Bytes{1}}};
  const std::set<std::string> fires = {"batch-size"};
  EXPECT_EQ(names_of(judge_timeline(parse_rules("batch-size"), facts)), fires);
  EXPECT_EQ(names_of(judge_timeline(usual_rules(), facts)).count("batch-size"), 0u);
  facts.memory[0].most = Bytes{700};
  EXPECT_TRUE(judge_timeline(parse_rules("batch-size"), facts).empty());
  facts.memory[0].most = Bytes{600}, facts.devices[0].busy = {0.71};
  EXPECT_TRUE(judge_timeline(parse_rules("batch-size"), facts).empty());
  facts.devices[0].busy = {0.1}, facts.devices[1].host_wait = 0.8;
  EXPECT_TRUE(judge_timeline(parse_rules("batch-size"), facts).empty());
}

TEST(TimelineRules, ADeviceMayWaitForItsHostInHalfOfAStep) {
  TimelineFacts facts = of_devices({{0.9}, {0.9}});
  facts.devices[1].host_wait = 0.5;
  EXPECT_TRUE(judge_timeline(usual_rules(), facts).empty());
  facts.devices[1].host_wait = 0.51;
  const FiredRules fired = judge_timeline(usual_rules(), facts);
  ASSERT_EQ(names_of(fired), std::set<std::string>{"cpu-bottleneck"});
  EXPECT_EQ(fired[0].device, 1);
}

TEST(TimelineRules, OutliersAreStepsThatStandFarOutOfTheirLike) {
  TimelineFacts facts;
  for (int i = 0; i < 100; ++i)
    facts.steps.push_back(std::chrono::microseconds(1000 + i % 5 + (i % 9 == 0 ? 900 : 0)));
  EXPECT_EQ(outlying_steps(facts.steps).size(), 12u);
  const FiredRules fired = judge_timeline(usual_rules(), facts);
  ASSERT_EQ(names_of(fired), std::set<std::string>{"step-outlier"});
  EXPECT_EQ(fired[0].found, 12);
  for (Duration& step : facts.steps)
    step = std::min(step, Duration(std::chrono::microseconds(1400)));
  EXPECT_TRUE(judge_timeline(usual_rules(), facts).empty());
}

TEST(TimelineRules, PeaksThatRiseOverTheSteps) {
  TimelineFacts facts;
  facts.memory = {{0, "device 0", Bytes{1000}, Bytes{600}}};
  for (int i = 0; i < 30; ++i) facts.memory[0].step_peaks.push_back(Bytes{500 + 3 * i});
  const FiredRules fired = judge_timeline(usual_rules(), facts);
  ASSERT_EQ(names_of(fired), std::set<std::string>{"gpu-memory-increase"});
  EXPECT_NEAR(fired[0].found, 6.0, 1e-9);
}

TEST(TimelineRules, MemoryNearItsLimitAndMemoryThatIsKept) {
  TimelineFacts facts;
  facts.memory = {{0, "device 0", Bytes{1000}, Bytes{971}}};
  EXPECT_EQ(names_of(judge_timeline(usual_rules(), facts)),
            std::set<std::string>{"arena-overflow"});
  facts.memory = {{0, "device 0", Bytes{1000}, Bytes{100}}};
  facts.memory[0].kept = Bytes{1};
  EXPECT_EQ(names_of(judge_timeline(usual_rules(), facts)), std::set<std::string>{"stash-leak"});
}

TEST(TimelineRules, AFirstStepThatBeginsLateAndGradientsThatAreOld) {
  TimelineFacts facts;
  facts.first_step = std::chrono::minutes(21), facts.staleness = 17;
  EXPECT_EQ(names_of(judge_timeline(usual_rules(), facts)),
            (std::set<std::string>{"max-initialization-time", "staleness"}));
  facts.first_step = std::chrono::minutes(20), facts.staleness = 16;
  EXPECT_TRUE(judge_timeline(usual_rules(), facts).empty());
}

TEST(TimelineRules, APlanDriftsBeyondItsRangeAndAFifthOfTheRealStep) {
  TimelineFacts facts;
  facts.step = std::chrono::milliseconds(100);
  facts.predicted = std::chrono::milliseconds(75);
  EXPECT_EQ(names_of(judge_timeline(usual_rules(), facts)), std::set<std::string>{"plan-drift"});
  facts.predicted_low = std::chrono::milliseconds(60);
  facts.predicted_high = std::chrono::milliseconds(110);
  EXPECT_TRUE(judge_timeline(usual_rules(), facts).empty());
}

TEST(TimelineRules, ARecordedTraceIsReadByTheSameRules) {
  RecordedTrace trace;
  trace.processes = {{"rank 0", 0}, {"rank 1", 1}};
  trace.threads = {{0, "stream", true}, {1, "stream", true}};
  trace.names = {"kernel"};
  // Steps of 100 ns, of which rank 0 computes 90 and rank 1 20; memory grows by 10 bytes a step.
  for (std::uint32_t p = 0; p < 2; ++p) {
    trace.rows.push_back({p, 0, trace.start.size(), 30});
    for (std::int64_t s = 0; s < 30; ++s) {
      trace.start.push_back(100 * s);
      trace.end.push_back(100 * s + (p == 0 ? 90 : 20));
      trace.name.push_back(0);
      trace.category.push_back(static_cast<std::uint8_t>(RecordedKind::Forward));
    }
  }
  RecordedCounter counter{0, "allocated", true, {}, {}};
  for (std::int64_t s = 0; s < 30; ++s) {
    for (std::uint32_t p = 0; p < 2; ++p) trace.steps.push_back({});
    counter.at.push_back(100 * s), counter.value.push_back(1000 + 10.0 * static_cast<double>(s));
  }
  for (std::uint32_t p = 0; p < 2; ++p)
    for (std::int64_t s = 0; s < 30; ++s)
      trace.steps[static_cast<std::size_t>(p * 30 + s)] = {p, s, Instant{100 * s},
                                                           Instant{100 * s + 100}};
  trace.counters = {counter};
  check(trace);
  EXPECT_EQ(
      names_of(judge_timeline(usual_rules(), timeline_facts(trace))),
      (std::set<std::string>{"low-gpu-utilization", "load-balancing", "gpu-memory-increase"}));
}

// --- words ---

TEST(RuleWords, ReadBackAsTheyAreWritten) {
  for (const char* text : {"all", "dead-relu", "all,confusion", "dead-relu.inactivity=5",
                           "vanishing-gradient,dead-relu.inactivity=5,dead-relu.layer=40",
                           "all,all-zero.looks=3,tensor-variance"})
    EXPECT_EQ(to_text(parse_rules(to_text(parse_rules(text)))), to_text(parse_rules(text))) << text;
  EXPECT_EQ(to_text(parse_rules("")), "all");
  EXPECT_EQ(parse_rules("dead-relu.inactivity=5")[0].params.number("inactivity"), 5);
  EXPECT_EQ(parse_rules("confusion,dead-relu")[0].rule, &dead_relu());
}

TEST(RuleWords, EveryRuleSaysWhenItFiresAndWhatToTry) {
  std::set<std::string_view> names;
  for (const Rule* one : rules()) {
    EXPECT_TRUE(names.insert(one->name).second) << one->name;
    EXPECT_FALSE(one->summary.empty() || one->advice.empty()) << one->name;
    EXPECT_TRUE(one->of_run != nullptr || one->of_timeline != nullptr) << one->name;
    for (const ParamSpec& spec : one->params) EXPECT_FALSE(spec.doc.empty()) << one->name;
  }
  EXPECT_EQ(names.size(), 31u);
}

}  // namespace
}  // namespace trainyard
