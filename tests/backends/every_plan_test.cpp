// The law of the CPU backend: every plan that it accepts, for every model, trains as one device
// does, within the memory that its program states, and to the same bits where its host keeps state
// or activations. Unused memory is filled with NaN, so that a read
// that is too early, too late or in the wrong place shows in the loss.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "core/model/ops.h"
#include "core/model/zoo/builders.h"
#include "core/timeline/metrics.h"
#include "core/training/model_inputs.h"
#include "tests/support/cases.h"
#include "tests/support/cpu_training.h"
#include "tests/support/non_empty.h"
#include "tests/support/synchronous.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::Settings;
using testing::tiny_convnet;
using testing::tiny_mlp;
using testing::tiny_transformer;

const std::vector<Model>& models() {
  static const std::vector<Model> list = {
      tiny_mlp(4),
      tiny_convnet(4),
      build_convnet({"tiny cnn", 8, 1, 3, 2, 2, 2}),
      build_lstm({"tiny lstm", 7, 4, 4, 5}),
      build_recommender({"tiny dlrm", {5, 7}, 4, 3, {6, 4}, {6, 1}}),
      tiny_transformer(),
      tiny_transformer({.tied = true}),
      tiny_transformer({.family = "llama"}),
      testing::tiny_encoder(4),
      testing::tiny_encoder_decoder("transformer", 2),
      testing::tiny_encoder_decoder("t5", 4),
      testing::tiny_wide_norms(NormKind::Rms),
      testing::tiny_recurrent(Mixer::StateSpace),
      testing::tiny_recurrent(Mixer::SelectiveScan),
      testing::tiny_head_norms(),
      testing::tiny_delta(),
      testing::tiny_pooler(EncoderHead::PoolerAndMaskedTokens),
      testing::tiny_latent(6),
      testing::tiny_vision("siglip", 1, 4, tiny_transformer({.family = "llama", .tied = true})),
      testing::tiny_vision("qwen2_5_vl", 2, 4, tiny_transformer({.family = "qwen2"})),
  };
  return list;
}

// Draws the words of a plan; most combinations are legal for some model.
class DrawnPlan {
 public:
  explicit DrawnPlan(std::uint64_t seed) : random_(11, seed) {
    const char* const hosts[] = {"offload=optimizer", "offload=activations", "offload=both"};
    offload = hosts[Random(12, seed).between(0, 0, 2)];
    const bool by_layer = offload != hosts[0] && Random(18, seed).between(0, 0, 1) == 0;
    if (by_layer) layers = "offload-layers=all";
    model =
        static_cast<std::size_t>(random_.between(at_++, 0, static_cast<int>(models().size()) - 3));
    // The two vision-language models are drawn apart, which leaves the others the plans they have.
    if (const Random vision(15, seed); vision.between(0, 0, 9) == 0)
      model = models().size() - static_cast<std::size_t>(vision.between(1, 1, 2));
    const std::string global = one_of({"global-batch=8", "global-batch=16"}),
                      micro = one_of({"micro-batch=1", "micro-batch=2"}),
                      rule = one_of({"optimizer=momentum", "optimizer=adamw", "optimizer=lamb"});
    alone = {global, micro, rule};
    words = alone;
    for (const char* axis : {"pp", "dp", "tp"}) {
      const std::int64_t degree = std::int64_t{1}
                                  << random_.between(at_++, 0, axis[0] == 't' ? 1 : 2);
      if (devices * degree > 8) continue;
      devices *= degree;
      words.push_back(std::string(axis) + "=" + std::to_string(degree));
    }
    words.push_back(one_of({"zero=0", "zero=1", "zero=2", "zero=3", "zero=3"}));
    words.push_back("schedule=" + one_of(schedules()));
    words.push_back(one_of({"virtual-stages=1", "virtual-stages=1", "virtual-stages=2"}));
    words.push_back(one_of({"recompute=none", "recompute=none", "recompute=selective",
                            "recompute=full", "recompute=blocks=1"}));
    for (const char* one : {"hybrid=2", "overlap=off", "sequence-parallel=off",
                            "flash-attention=off", "zero-reduce=step"})
      if (random_.between(at_++, 0, 3) == 0) words.push_back(one);
    if (random_.between(at_++, 0, 3) == 0) words.push_back("reshard-after-forward=off");
    if (Random(14, seed).between(0, 0, 3) == 0) words.push_back("zero.gathered-layers=last:1");
    if (Random(16, seed).between(0, 0, 3) == 0)
      words.push_back("tensor-parallel.ulysses-layers=first:1");
    const char* const parts[] = {"lora=2", "lora=3", "frozen=layers", "frozen=head"};
    const Random trained(13, seed);
    if (trained.between(0, 0, 2) == 0) part = parts[trained.between(1, 0, 3)];
    if (part == "frozen=layers" && trained.between(2, 0, 1) == 0) part = "frozen=all-but-head";
    const Random drawn_documents(17, seed);
    if (drawn_documents.between(0, 0, 2) == 0) {
      const char* const rules[] = {"widths=any", "widths=multiple:2", "widths=2"};
      documents = {"packing=longest", rules[drawn_documents.between(1, 0, 2)]};
      if (drawn_documents.between(2, 0, 1) == 0) documents.emplace_back("packing-order=by-length");
    }
    // A sequence that tensor and context ranks divide, where there is one.
    if (random_.between(at_++, 0, 1) != 0) return;
    alone.push_back("seq=4");
    words.push_back("seq=4");
    if (devices > 4 || random_.between(at_++, 0, 1) == 0) return;
    devices *= 2;
    words.push_back("cp=2");
    words.push_back(one_of({"context-parallel.kind=ring", "context-parallel.kind=ulysses"}));
  }

  std::size_t model = 0;
  std::int64_t devices = 1;
  std::vector<std::string> words, alone;
  std::string_view offload, part;      // not among the words: the part that is trained, or empty
  std::string_view layers;             // that leave one by one, where it offloads; or empty
  std::vector<std::string> documents;  // nor are these, of samples as wide as their longest

  /// Returns this plan, but training that part only.
  DrawnPlan of_part() const {
    DrawnPlan made = *this;
    made.words.emplace_back(part);
    made.alone.emplace_back(part);
    return made;
  }

  /// Returns this plan with samples of documents, which one device pads to the whole sequence.
  DrawnPlan of_documents() const {
    constexpr const char* kLengths = "lengths=uniform:1-4";
    DrawnPlan made = *this;
    made.words.insert(made.words.end(), documents.begin(), documents.end());
    made.words.emplace_back(kLengths);
    made.alone.insert(made.alone.end(), {"packing=pad", kLengths});
    return made;
  }

  std::string text() const {
    std::string text = models()[model].name + " on " + std::to_string(devices) + ":";
    for (const std::string& word : words) text += " --set " + word;
    return text;
  }

 private:
  static std::vector<std::string> schedules() {
    std::vector<std::string> names;
    for (const Method& m : methods())
      if (testing::synchronous(m)) names.emplace_back(m.name);
    return names;
  }
  std::string one_of(const std::vector<std::string>& list) {
    return list[static_cast<std::size_t>(
        random_.between(at_++, 0, static_cast<std::int64_t>(list.size()) - 1))];
  }

  Random random_;
  std::uint64_t at_ = 0;
};

Training three_steps() {
  Training t;
  // Rounding is magnified a thousand times where a row of T5's table comes close to 0, which its
  // norm divides by: at 0.02 for one order of sums, at 0.05 for another, and at neither 0.019 nor
  // 0.021.
  t.rate = 0.03;
  t.momentum = 0.5;
  t.steps = 3;
  t.epsilon = 1;  // a gradient that is 0 except for rounding has no effect, and small ones no large
                  // one
  return t;
}

constexpr std::string_view kNoOffload = "offload=none";

Settings settings_of(const DrawnPlan& drawn, std::string_view offload) {
  Settings all(drawn.words.begin(), drawn.words.end());
  all.push_back(offload);
  if (offload != kNoOffload && !drawn.layers.empty()) all.push_back(drawn.layers);
  return all;
}

bool accepted(const DrawnPlan& drawn, std::string_view offload) {
  Settings all = settings_of(drawn, offload);
  all.emplace_back("precision=fp32");
  try {
    const Scenario s = testing::scenario(models()[drawn.model], drawn.devices, all, "cpu");
    if (has_errors(check(s))) return false;
    const Workload w = prepare(s);
    LowerOptions options;
    options.grain = Grain::Op;
    const Training training = three_steps();
    return !has_errors(CpuBackend::check({w, lower(w, options), TaskPrices{}, &training}));
  } catch (const Error&) {  // words that do not go together
    return false;
  }
}

// Dropout draws a mask by the place of an element, which another width moves; and documents have an
// input for each token.
bool teaches_alike(const Model& model) {
  for (const ModelInput& input : model_inputs(model))
    if (!has_axis(input.in_graph(), Axis::Sequence)) return false;
  for (const Block& block : model.blocks)
    for (const Node& node : block.graph.nodes) {
      const auto rate = node.attributes.find("dropout");
      if (node.op == &dropout() || (rate != node.attributes.end() && rate->second != 0))
        return false;
    }
  return true;
}

// The largest difference of a parameter that both have, relative to the largest parameter. The run
// may have more: the last stage's copy of a table.
double difference(const std::vector<TrainedTensor>& run, const std::vector<TrainedTensor>& alone) {
  std::map<std::pair<int, std::string>, const TrainedTensor*> of_run;
  for (const TrainedTensor& t : run) of_run[{t.layer, t.name}] = &t;
  double worst = 0, most = 0;
  for (const TrainedTensor& wanted : alone) {
    const auto found = of_run.find({wanted.layer, wanted.name});
    EXPECT_TRUE(found != of_run.end()) << wanted.name;
    if (found == of_run.end()) continue;
    const std::vector<float>& values = found->second->values;
    EXPECT_EQ(values.size(), wanted.values.size()) << wanted.name;
    for (std::size_t e = 0; e < std::min(values.size(), wanted.values.size()); ++e) {
      const double apart = std::abs(double{values[e]} - wanted.values[e]);
      worst = std::isnan(apart) ? INFINITY : std::max(worst, apart);
      most = std::max(most, std::abs(double{wanted.values[e]}));
    }
  }
  return worst / most;
}

// Every kernel takes equally long, so that what is held at once does not depend on other load of
// the machine.
std::function<Duration()> in_equal_steps() {
  return [now = Duration{}]() mutable { return now += std::chrono::microseconds{10}; };
}

double peak_bytes(const MemoryWave& wave) {
  return static_cast<double>(total(wave.samples[wave.peak].bytes).value);
}

double on_hosts(const testing::CpuRun& run, DeviceId device) {
  Bytes most{};
  for (const DeviceMemory& m : run.run.memory)
    if (m.device == device) most = std::max(most, m.host);
  return static_cast<double>(most.value);
}

testing::CpuRun trained(const DrawnPlan& drawn, std::string_view offload) {
  CpuOptions options;
  options.processor_time = in_equal_steps();
  testing::CpuRun run = testing::train_on_cpu(models()[drawn.model], drawn.devices,
                                              settings_of(drawn, offload), three_steps(), options);
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(run.program.devices); ++d) {
    const MemoryWave predicted = memory_wave(run.run.timeline, run.program, DeviceId{d});
    const double held = peak_bytes(run.run.waves[d]), foretold = peak_bytes(predicted);
    EXPECT_GE(held, foretold) << "device " << d;
    // An operation that waits for another replica has its buffers from when it is begun.
    EXPECT_LE(held, foretold + 0.25 * (foretold + on_hosts(run, DeviceId{d}))) << "device " << d;
  }
  return run;
}

TEST(EveryPlan, ThatIsAcceptedTrainsAsOneDevice) {
  const std::uint64_t wanted = testing::cases(250, 15);
  std::map<std::vector<std::string>, testing::CpuRun> alone;
  std::set<std::string> met;  // words of accepted plans
  std::uint64_t pairs = 0;
  for (std::uint64_t seed = 0; pairs < wanted && seed < 40 * wanted; ++seed) {
    DrawnPlan drawn(seed);
    if (!accepted(drawn, kNoOffload)) continue;
    if (!drawn.part.empty() && accepted(drawn.of_part(), kNoOffload)) drawn = drawn.of_part();
    if (!drawn.documents.empty() && teaches_alike(models()[drawn.model]) &&
        accepted(drawn.of_documents(), kNoOffload))
      drawn = drawn.of_documents();
    ++pairs;
    for (const std::string& word : drawn.words) met.insert(word);
    met.insert(models()[drawn.model].name);
    SCOPED_TRACE(drawn.text());
    std::vector<std::string> key = drawn.alone;
    key.push_back(std::to_string(drawn.model));
    const Settings plain(drawn.alone.begin(), drawn.alone.end());
    const auto [one, is_new] = alone.try_emplace(key);
    if (is_new) one->second = testing::train_on_cpu(models()[drawn.model], 1, plain, three_steps());
    testing::CpuRun run;
    ASSERT_NO_THROW(run = trained(drawn, kNoOffload));
    if (accepted(drawn, drawn.offload)) {
      SCOPED_TRACE(std::string(drawn.offload) + " " + std::string(drawn.layers));
      met.emplace(drawn.offload);
      met.emplace(drawn.layers);
      ASSERT_NO_THROW(EXPECT_EQ(trained(drawn, drawn.offload).run.losses, run.run.losses));
    }
    ASSERT_EQ(run.run.losses.size(), one->second.run.losses.size());
    for (std::size_t i = 0; i < run.run.losses.size(); ++i)
      EXPECT_NEAR(run.run.losses[i], one->second.run.losses[i],
                  1e-5 * std::abs(one->second.run.losses[i]))
          << "step " << i;
    EXPECT_LT(difference(run.parameters, one->second.parameters), 3e-5);
  }
  EXPECT_EQ(pairs, wanted);
  if (testing::sanitized()) return;  // so few plans do not meet every word
  for (const Model& model : testing::non_empty(models()))
    EXPECT_TRUE(met.contains(model.name)) << model.name;
  for (const char* word : {"zero=1",
                           "zero=2",
                           "zero=3",
                           "tp=2",
                           "cp=2",
                           "context-parallel.kind=ring",
                           "context-parallel.kind=ulysses",
                           "pp=4",
                           "dp=4",
                           "recompute=full",
                           "recompute=blocks=1",
                           "virtual-stages=2",
                           "seq=4",
                           "reshard-after-forward=off",
                           "zero.gathered-layers=last:1",
                           "tensor-parallel.ulysses-layers=first:1",
                           "widths=any",
                           "widths=multiple:2",
                           "widths=2",
                           "packing-order=by-length",
                           "offload=optimizer",
                           "offload=activations",
                           "offload=both",
                           "offload-layers=all",
                           "lora=2",
                           "frozen=layers",
                           "frozen=head",
                           "frozen=all-but-head"})
    EXPECT_TRUE(met.contains(word)) << word;
}

}  // namespace
}  // namespace trainyard
