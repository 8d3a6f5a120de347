// Documents that share samples train as they do alone: the same losses and gradients over the same
// tokens, in every layout of a run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "backends/documents.h"
#include "backends/reference/reference_backend.h"
#include "core/model/ops.h"
#include "core/model/packed_samples.h"
#include "core/training/data/document_data.h"
#include "core/training/model_inputs.h"
#include "tests/backends/kernel_agreement.h"
#include "tests/support/cases.h"
#include "tests/support/cpu_training.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using testing::CpuRun;
using testing::Draw;
using testing::KernelCase;
using testing::SampleNumbers;
using testing::Settings;
using testing::train_on_cpu;

constexpr std::int64_t kTokens = 16;

Model model_of_documents(const char* family, std::int64_t window = 0) {
  TransformerSpec spec = family_spec(family);
  spec.name = std::string("packed ") + family;
  spec.layers = 2;
  spec.hidden = 8;
  spec.heads = 4;
  spec.kv_heads = spec.fused_qkv ? 4 : 2;
  spec.ffn = 6;
  spec.vocab = 7;
  spec.sequence = kTokens;
  spec.window = window;
  spec.dropout = spec.attention_dropout = false;
  return build_decoder(spec);
}

constexpr std::string_view kLengths = "lengths=histogram:3*2,5*1,8*2,16*1";

// One epoch is one step: both ways of making samples then train on the same documents.
std::int64_t samples_of(std::string_view packing) {
  const Workload w = prepare(testing::scenario(model_of_documents("gpt2"), 1,
                                               {"precision=fp32", packing, kLengths}, "cpu"));
  return static_cast<std::int64_t>(w.layout.binding.documents->samples.size());
}

Training training_of(std::int64_t steps) {
  Training t;
  t.rate = 0.5;
  t.steps = steps;
  return t;
}

CpuRun trained_documents(const Model& model, std::string_view packing, std::int64_t devices,
                         const Settings& more, std::int64_t samples, std::int64_t steps = 1) {
  const std::string batch = "global-batch=" + std::to_string(samples);
  Settings all = {packing, kLengths, batch, "optimizer=sgd"};
  all.insert(all.end(), more.begin(), more.end());
  return train_on_cpu(model, devices, all, training_of(steps));
}

const TrainedTensor& tensor_of(const std::vector<TrainedTensor>& list, const TrainedTensor& one) {
  return *std::find_if(list.begin(), list.end(), [&](const TrainedTensor& t) {
    return t.layer == one.layer && t.name == one.name;
  });
}

TEST(PackedTraining, PackedDocumentsTrainAsPaddedOnes) {
  const std::int64_t packed = samples_of("packing=packed"), padded = samples_of("packing=pad");
  ASSERT_LT(2 * packed, padded + packed);
  // Positions of a table, and rotary ones with a window.
  const std::vector<Model> models = {model_of_documents("gpt2"), model_of_documents("llama", 4)};
  for (const Model& model : testing::sampled(models, 2)) {
    SCOPED_TRACE(model.name);
    testing::expect_same_training(trained_documents(model, "packing=packed", 1, {}, packed),
                                  trained_documents(model, "packing=pad", 1, {}, padded), 1e-5);
  }
}

// Hands out only some documents of another source, one a sample, from the beginning of each.
class SomeDocuments final : public DataSource {
 public:
  SomeDocuments(const DataSource& source, std::vector<std::int64_t> numbers)
      : source_(source), numbers_(std::move(numbers)) {}
  std::string_view name() const override { return "some documents"; }
  std::string provenance() const override { return "made by the test"; }
  std::int64_t samples() const override { return static_cast<std::int64_t>(numbers_.size()); }
  std::int64_t evaluation_samples() const override { return 1; }
  Diagnostics check(const Model&) const override { return {}; }
  void fill(const DataRequest&, std::span<float>) const override {}
  void fill(const DataRequest& request, std::span<std::int64_t> into) const override {
    DataRequest other = request;
    other.first_sample = numbers_[static_cast<std::size_t>(request.first_sample)];
    if (model_input(request).role != InputRole::Positions) return source_.fill(other, into);
    std::iota(into.begin(), into.end(), request.first_token);
  }

 private:
  const DataSource& source_;
  std::vector<std::int64_t> numbers_;
};

// Without packing or padding: for each length a run of its own, of sequences of that length. A step
// moves weights by the mean gradient over its tokens, so that moves times tokens add up.
TEST(PackedTraining, PackedDocumentsTrainAsEachAloneInASequenceOfItsLength) {
  for (const char* family : {"gpt2", "llama"}) {
    SCOPED_TRACE(family);
    const Model model = model_of_documents(family);
    const CpuRun packed = trained_documents(model, "packing=packed", 1, {"micro-batch=1"},
                                            samples_of("packing=packed"));
    std::map<std::int64_t, std::vector<std::int64_t>> numbers;  // of documents, by length
    const PackedSamples& plan = *packed.workload.layout.binding.documents;
    for (std::size_t d = 0; d < plan.lengths.size(); ++d)
      numbers[plan.lengths[d]].push_back(static_cast<std::int64_t>(d));
    ASSERT_EQ(numbers.size(), 4u);
    double loss = 0, tokens = 0;
    std::vector<std::vector<double>> moves;
    for (const TrainedTensor& t : packed.initial) moves.emplace_back(t.values.size(), 0.0);
    const SampleNumbers samples;
    for (const auto& [length, list] : numbers) {
      const std::string batch = "global-batch=" + std::to_string(list.size()),
                        sequence = "seq=" + std::to_string(length);
      const CpuRun alone = train_on_cpu(model, 1, {sequence, batch, "optimizer=sgd"},
                                        training_of(1), {}, SomeDocuments(samples, list));
      const auto weight = static_cast<double>(length) * static_cast<double>(list.size());
      loss += weight * alone.run.losses[0], tokens += weight;
      for (std::size_t t = 0; t < moves.size(); ++t) {
        const TrainedTensor &before = tensor_of(alone.initial, packed.initial[t]),
                            &after = tensor_of(alone.parameters, packed.initial[t]);
        for (std::size_t e = 0; e < moves[t].size(); ++e)
          moves[t][e] += weight * (after.values[e] - before.values[e]);
      }
    }
    EXPECT_NEAR(packed.run.losses[0], loss / tokens, 1e-5 * packed.run.losses[0]);
    double largest = 0;
    for (std::size_t t = 0; t < moves.size(); ++t) {
      const TrainedTensor& before = packed.initial[t];
      const TrainedTensor& after = tensor_of(packed.parameters, before);
      for (std::size_t e = 0; e < moves[t].size(); ++e) {
        ASSERT_NEAR(after.values[e] - before.values[e], moves[t][e] / tokens, 1e-5)
            << before.name << " of layer " << before.layer;
        largest = std::max(largest, std::abs(moves[t][e] / tokens));
      }
    }
    EXPECT_GT(largest, 1e-2);  // or weights would not have moved
  }
}

struct DividedDocuments {
  std::int64_t devices;
  const char* packing;
  Settings settings;
};

TEST(PackedTraining, EveryLayoutTrainsAsOneDevice) {
  const DividedDocuments layouts[] = {
      {1, "packing=packed", {"micro-batch=4"}},
      {1, "packing=packed", {"flash-attention=off"}},
      {1, "packing=packed", {"recompute=full", "micro-batch=2"}},
      {1, "packing=packed", {"flash-attention=off", "recompute=selective"}},
      {2, "packing=packed", {"pp=2"}},
      {2, "packing=packed", {"tp=2"}},
      {2, "packing=packed", {"tp=2", "sequence-parallel=on"}},
      {2, "packing=packed", {"dp=2", "zero=3"}},
      {2, "packing=packed", {"cp=2", "context-parallel.kind=ulysses"}},
      {4, "packing=packed", {"cp=2", "pp=2", "context-parallel.kind=ulysses"}},
      {4, "packing=packed", {"pp=2", "dp=2", "schedule=zb-h1"}},
      {2, "packing=pad", {"cp=2"}},
      {2, "packing=pad", {"tp=2", "micro-batch=2"}},
  };
  const Model model = model_of_documents("llama");
  for (const DividedDocuments& one : layouts) {
    SCOPED_TRACE(std::string(one.packing) + " with " + std::string(one.settings[0]) + " on " +
                 std::to_string(one.devices));
    testing::expect_same_training(
        trained_documents(model, one.packing, one.devices, one.settings, 16, 3),
        trained_documents(model, one.packing, 1, {}, 16, 3), 1e-5);
  }
}

// Microbatches as wide as their longest document, in every layout, against whole sequences on one
// device: padding teaches nothing, and so it may be left out.
TEST(OpenWidthTraining, EveryLayoutTrainsAsPaddedOnOneDevice) {
  const DividedDocuments layouts[] = {
      {1, "packing=longest", {"micro-batch=1"}},
      {1, "packing=longest", {"micro-batch=4"}},
      {1, "packing=longest", {"micro-batch=2", "widths=multiple:6"}},
      {1, "packing=longest", {"micro-batch=2", "widths=4,10"}},
      {1, "packing=longest", {"flash-attention=off", "micro-batch=2"}},
      {1, "packing=longest", {"recompute=full", "micro-batch=2"}},
      {1, "packing=longest", {"flash-attention=off", "recompute=selective"}},
      {2, "packing=longest", {"pp=2", "micro-batch=2"}},
      {2, "packing=longest", {"tp=2", "sequence-parallel=off"}},
      {2, "packing=longest", {"tp=2", "sequence-parallel=on", "micro-batch=2"}},
      {2, "packing=longest", {"dp=2", "zero=3"}},
      {4, "packing=longest", {"pp=2", "dp=2", "schedule=zb-h1"}},
      {4, "packing=longest", {"pp=2", "schedule=dualpipe", "recompute=full", "dp=2"}},
      {4, "packing=longest", {"tp=2", "pp=2", "schedule=gpipe", "zero=1"}},
  };
  for (const char* family : {"llama", "gpt2"}) {
    const Model model = model_of_documents(family);
    const CpuRun padded = trained_documents(model, "packing=pad", 1, {}, 16, 3);
    for (const DividedDocuments& one : layouts) {
      SCOPED_TRACE(std::string(family) + " with " + std::string(one.settings[0]) + " on " +
                   std::to_string(one.devices));
      testing::expect_same_training(
          trained_documents(model, one.packing, one.devices, one.settings, 16, 3), padded, 1e-5);
    }
  }
}

// Dealt by length a step has the documents that it has as they are drawn, and every replica has its
// part of those of one length.
TEST(OpenWidthTraining, AStepByLengthTeachesWhatItsDocumentsDo) {
  const Model model = model_of_documents("llama");
  const CpuRun padded = trained_documents(model, "packing=pad", 1, {}, 16, 3);
  const DividedDocuments layouts[] = {
      {1, "packing=longest", {"micro-batch=1"}},
      {1, "packing=longest", {"micro-batch=4"}},
      {2, "packing=longest", {"dp=2", "micro-batch=2"}},
      {4, "packing=longest", {"dp=2", "pp=2", "micro-batch=2"}},
  };
  for (const DividedDocuments& one : layouts) {
    SCOPED_TRACE(std::string(one.settings[0]) + " on " + std::to_string(one.devices));
    Settings by_length = one.settings;
    by_length.push_back("packing-order=by-length");
    testing::expect_same_training(
        trained_documents(model, one.packing, one.devices, by_length, 16, 3), padded, 1e-5);
  }
}

// B-SCH-09: lengths of 16 to 128 tokens, uniform, a thousand samples. One program serves all
// widths, computes nothing but documents, and holds what it holds for whole sequences.
TEST(OpenWidthTraining, OneProgramServesAThousandSamplesOfManyLengths) {
  TransformerSpec spec = family_spec("llama");
  spec.name = "lengths", spec.layers = 1, spec.hidden = 8, spec.heads = spec.kv_heads = 2;
  spec.ffn = 8, spec.vocab = 7, spec.sequence = 128;
  const Model model = build_decoder(spec);
  const auto trained = [&](std::string_view packing, std::string_view micro) {
    return train_on_cpu(
        model, 1, {packing, micro, "lengths=uniform:16-128", "global-batch=128", "optimizer=sgd"},
        training_of(8));
  };
  const CpuRun open = trained("packing=longest", "micro-batch=1"),
               padded = trained("packing=pad", "micro-batch=1");
  ASSERT_TRUE(open.run.widths);
  EXPECT_FALSE(padded.run.widths);
  EXPECT_GE(open.run.widths->distinct, 50);
  EXPECT_GE(open.run.widths->narrowest, 16);
  EXPECT_EQ(open.run.widths->widest, 128);
  EXPECT_EQ(open.program.instructions.size(), padded.program.instructions.size());
  EXPECT_EQ(open.run.memory[0].most, padded.run.memory[0].most);
  // The mean over 1024 samples is close to that of all documents, and both are what is useful.
  EXPECT_NEAR(open.run.widths->computed * 128, open.workload.layout.binding.documents->mean_width(),
              1.0);
  EXPECT_DOUBLE_EQ(open.workload.layout.binding.documents->efficiency(), 1);
  EXPECT_LT(padded.workload.layout.binding.documents->efficiency(), 1 / 1.6);
  testing::expect_same_training(open, padded, 1e-5);
}

TEST(PackedTraining, TheReferenceLearnsTheSame) {
  for (const char* packing : {"packing=packed", "packing=pad", "packing=longest"})
    for (const char* family : {"gpt2", "llama"}) {
      SCOPED_TRACE(std::string(packing) + " of " + family);
      const CpuRun run = trained_documents(model_of_documents(family), packing, 2, {"dp=2"}, 8, 3);
      const Training training = training_of(3);
      const SampleNumbers source;
      const auto cost = roofline_cost_model();
      const Scenario& s = run.workload.scenario;
      const TaskPrices prices = price(run.program, s.plan.mesh, s.cluster, *cost);
      ReferenceBackend backend({run.workload, run.program, prices, &training, &source});
      backend.set_parameters(run.initial);
      const BackendRun exact = backend.run();
      ASSERT_EQ(exact.losses.size(), run.run.losses.size());
      for (std::size_t i = 0; i < exact.losses.size(); ++i)
        EXPECT_NEAR(run.run.losses[i], exact.losses[i], 1e-5 * exact.losses[i]);
      for (const TrainedTensor& wanted : testing::non_empty(backend.parameters())) {
        const TrainedTensor& found = tensor_of(run.parameters, wanted);
        for (std::size_t e = 0; e < wanted.values.size(); ++e)
          ASSERT_NEAR(found.values[e], wanted.values[e], 1e-5) << wanted.name;
      }
    }
}

// --- kernels ---

// Documents of random lengths in samples of random padding.
DocumentBounds random_bounds(Draw& d, std::int64_t sequence, std::int64_t samples, bool packed) {
  DocumentBounds made;
  made.sequence = sequence, made.packed = packed;
  for (std::int64_t s = 0; s < samples; ++s) {
    const std::int64_t end = d.between(1, sequence);
    std::int64_t position = 0;
    while (position < end) {
      const std::int64_t length = packed ? d.between(1, end - position) : end;
      made.begins.insert(made.begins.end(), static_cast<std::size_t>(length),
                         static_cast<std::int32_t>(position));
      position += length;
      made.ends.insert(made.ends.end(), static_cast<std::size_t>(length),
                       static_cast<std::int32_t>(position));
    }
    made.counted += static_cast<double>(end);
    for (; position < sequence; ++position) {
      made.begins.push_back(static_cast<std::int32_t>(position));
      made.ends.push_back(static_cast<std::int32_t>(position));
    }
  }
  return made;
}

KernelCase attention_of_documents(Draw& d) {
  const std::int64_t kv = d.between(1, 2), heads = kv * d.between(1, 2), qk = d.between(1, 20),
                     v = d.coin() ? qk : 16, batch = d.between(1, 3),
                     tokens = d.coin() ? d.between(1, 30) : d.between(60, 100);
  const bool causal = d.between(0, 3) > 0;
  const auto of = [&](std::int64_t count, std::int64_t width) {
    return testing::activation({whole(tokens), whole(batch), testing::heads_dim(count, width)});
  };
  KernelCase c;
  c.inputs = {of(heads, qk), of(kv, qk), of(kv, v)};
  c.attributes = {{"heads", heads}, {"kv_heads", kv}, {"causal", causal ? 1 : 0}};
  if (d.coin()) c.attributes["window"] = d.between(1, tokens);
  if (d.between(0, 3) == 0) c.attributes["chunk"] = d.between(1, tokens);
  c.attributes["dropout"] = d.between(0, 1);
  if (d.between(0, 3) == 0) c.inputs.push_back(testing::parameter({testing::heads_dim(heads, 1)}));
  c.flash_attention = d.coin();
  c.documents = random_bounds(d, tokens, batch, d.between(0, 3) > 0);
  return c;
}

KernelCase rotary_of_documents(Draw& d) {
  const std::int64_t tokens = d.between(1, 40), batch = d.between(1, 3), heads = d.between(1, 3);
  KernelCase c;
  c.inputs = {testing::activation(
      {{tokens, Axis::Sequence, 0}, whole(batch), testing::heads_dim(heads, d.between(1, 20))})};
  c.documents = random_bounds(d, tokens, batch, true);
  return c;
}

KernelCase loss_of_documents(Draw& d) {
  const std::int64_t tokens = d.between(1, 20), batch = d.between(1, 3), classes = d.between(2, 40);
  KernelCase c;
  c.inputs = {testing::activation(testing::sizes({tokens, batch, classes})),
              testing::indices(testing::sizes({tokens, batch}))};
  c.index_below = classes;
  c.documents = random_bounds(d, tokens, batch, d.coin());
  return c;
}

TEST(PackedKernels, Attention) { testing::expect_agreement(attention(), attention_of_documents); }
TEST(PackedKernels, Rotary) { testing::expect_agreement(rotary(), rotary_of_documents); }
TEST(PackedKernels, SoftmaxLoss) { testing::expect_agreement(softmax_loss(), loss_of_documents); }

}  // namespace
}  // namespace trainyard
