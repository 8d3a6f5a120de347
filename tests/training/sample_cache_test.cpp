// Tests that a cache hands out the very samples of its source, and that its hits are those of the
// formula.
#include "core/training/data/sample_cache.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/result/input_cost.h"
#include "core/training/data/data_sources.h"
#include "core/training/data/sample_order.h"
#include "core/training/model_inputs.h"
#include "tests/support/layers.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

// Samples in another order every epoch: each number of a sample is the sample's own.
class OrderedSamples final : public DataSource {
 public:
  explicit OrderedSamples(std::int64_t samples) : samples_(samples) {}
  std::string_view name() const override { return "ordered"; }
  std::string provenance() const override { return "made by the test"; }
  std::int64_t samples() const override { return samples_; }
  std::int64_t evaluation_samples() const override { return 8; }
  std::optional<std::int64_t> stored_sample(std::int64_t position) const override {
    return sample_at(7, position, samples_);
  }
  Diagnostics check(const Model&) const override { return {}; }
  void fill(const DataRequest& request, std::span<float> into) const override {
    each_element(request, [&](std::size_t e, std::int64_t sample, std::int64_t, std::int64_t rest) {
      const std::int64_t stored = request.evaluation ? -sample : *stored_sample(sample);
      into[e] = static_cast<float>(stored) + static_cast<float>(rest) / 1024;
    });
  }
  void fill(const DataRequest&, std::span<std::int64_t> into) const override {
    std::fill(into.begin(), into.end(), 5);
  }

 private:
  std::int64_t samples_;
};

// Reads the numbers of a model's first input.
class CacheReader {
 public:
  CacheReader() : model_(testing::tiny_mlp(4)) {
    for (const ModelInput& input : model_inputs(model_))
      if (input.role == InputRole::Numbers) input_ = input;
    for (const Dim& dim : input_.in_graph().shape) shape_.push_back(dim.size);
  }
  std::int64_t numbers_of_sample() const {
    std::int64_t numbers = 1;
    for (std::size_t d = 1; d < shape_.size(); ++d) numbers *= shape_[d];
    return numbers;
  }
  std::vector<float> read(const DataSource& from, std::int64_t first, std::int64_t samples,
                          bool evaluation = false) const {
    std::vector<std::int64_t> shape = shape_;
    shape[0] = samples;
    std::vector<float> numbers(static_cast<std::size_t>(samples * numbers_of_sample()));
    from.fill({model_, input_.block->graph, input_.tensor, shape, first, evaluation},
              std::span(numbers));
    return numbers;
  }

 private:
  Model model_;
  ModelInput input_;
  std::vector<std::int64_t> shape_;
};

// The formula of a plan whose node reads the same data set and has the same memory.
double share_in_memory(std::int64_t samples, std::int64_t bytes, std::int64_t capacity) {
  const std::string all = "input.samples=" + std::to_string(samples),
                    each = "input.decoded=" + std::to_string(bytes) + "B",
                    memory = "input.memory=" + std::to_string(capacity) + "B";
  Scenario s =
      testing::scenario(testing::gpt(), 1, {"global-batch=8", "input=cached", all, each, memory});
  s.plan = complete(s);
  return input_cost(s, {})->memory_share;
}

RC_GTEST_PROP(SampleCache, HitsAreTheShareThatFitsAndSamplesAreTheSame, ()) {
  const CacheReader reader;
  const std::int64_t bytes = reader.numbers_of_sample() * 4,
                     samples = *rc::gen::inRange<std::int64_t>(1, 60),
                     kept = *rc::gen::inRange<std::int64_t>(0, 70),
                     batch = *rc::gen::inRange<std::int64_t>(1, 9);
  const OrderedSamples plain(samples);
  const SampleCache cache(std::make_unique<OrderedSamples>(samples), Bytes{kept * bytes});
  constexpr std::int64_t kEpochs = 4;
  for (std::int64_t at = 0; at < kEpochs * samples; at += batch) {
    const std::int64_t count = std::min(batch, kEpochs * samples - at);
    RC_ASSERT(reader.read(cache, at, count) == reader.read(plain, at, count));
    if (at + count <= samples) RC_ASSERT(cache.counts().hits == 0);
  }
  const CacheCounts counts = cache.counts();
  RC_ASSERT(counts.hits + counts.misses == kEpochs * samples);
  RC_ASSERT(counts.kept == std::min(kept, samples));
  RC_ASSERT(counts.hits == (kEpochs - 1) * counts.kept);
  RC_ASSERT(counts.bytes.value == counts.kept * bytes && counts.bytes <= counts.capacity);
  // Every epoch after the first hits the share of the formula.
  RC_ASSERT(std::abs(static_cast<double>(counts.kept) / static_cast<double>(samples) -
                     share_in_memory(samples, bytes, kept * bytes)) < 1e-12);
}

TEST(SampleCache, CountsNoEvaluation) {
  const CacheReader reader;
  const SampleCache cache(std::make_unique<OrderedSamples>(10), 1_MiB);
  EXPECT_EQ(reader.read(cache, 3, 2, true), reader.read(OrderedSamples(10), 3, 2, true));
  EXPECT_EQ(cache.counts().hits + cache.counts().misses, 0);
  EXPECT_EQ(cache.counts().hit_share(), 0);
}

TEST(SampleCache, SamplesOfNoiseComeAgainAndTextsDoNot) {
  EXPECT_EQ(random_source(1)->stored_sample(5), 5);
  EXPECT_EQ(random_source(1)->stored_sample(1024 + 5), 5);
  EXPECT_FALSE(text_data("text", std::string(200, 'a') + "b", "made", 1)->stored_sample(0));
}

}  // namespace
}  // namespace trainyard
