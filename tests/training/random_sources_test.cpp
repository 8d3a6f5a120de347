#include "core/training/random_sources.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "core/model/zoo/zoo.h"
#include "core/training/data/data_sources.h"
#include "core/training/training.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

// The numbers or indices that a model reads of so many samples.
template <class T>
std::vector<T> samples_of(const DataSource& data, const Model& model, const std::string& tensor,
                          std::vector<std::int64_t> shape, bool evaluation) {
  for (const Block& block : model.blocks)
    for (std::uint32_t t = 0; t < block.graph.tensors.size(); ++t)
      if (block.graph.tensors[t].name == tensor) {
        std::int64_t elements = 1;
        for (const std::int64_t d : shape) elements *= d;
        std::vector<T> into(static_cast<std::size_t>(elements));
        data.fill(DataRequest{model, block.graph, {t}, shape, 0, evaluation}, into);
        return into;
      }
  ADD_FAILURE() << "no tensor is called " << tensor;
  return {};
}

std::string numbered_letters() {
  std::string text;
  for (int i = 0; i < 700; ++i) text += static_cast<char>('a' + i * i % 23);
  return text;
}

TEST(RandomSources, ASourceFollowsTheSeedUntilItHasItsOwn) {
  Training training;
  apply_training(training, "seed=7");
  EXPECT_EQ(seed_of(training, RandomSource::Order), 7u);
  apply_training(training, "order-seed=9");
  EXPECT_EQ(seed_of(training, RandomSource::Order), 9u);
  EXPECT_EQ(seed_of(training, RandomSource::Weights), 7u);
  EXPECT_EQ(data_seeds(training).order, 9u);
  EXPECT_EQ(data_seeds(training).law, 7u);
  EXPECT_EQ(data_seeds(training).split, std::nullopt);
  apply_training(training, "order-seed=seed");
  EXPECT_EQ(seed_of(training, RandomSource::Order), 7u);
  apply_training(training, "split-seed=3");
  EXPECT_EQ(data_seeds(training).split, 3u);
  apply_training(training, "split-seed=none");
  EXPECT_EQ(data_seeds(training).split, std::nullopt);
  EXPECT_NE(testing::refusal([&] { apply_training(training, "split-seed=seed"); }), "accepted");
}

TEST(RandomSources, NamesReadBack) {
  for (std::size_t i = 0; i < kRandomSources; ++i) {
    const auto source = static_cast<RandomSource>(i);
    EXPECT_EQ(read_random_source(to_string(source), {}), source);
  }
  EXPECT_EQ(testing::refusal([] { read_random_source("wieghts", {"--vary"}); }),
            "--vary: expected order, weights, dropout, augmentation, rounding, split, noise, found "
            "\"wieghts\"; did you mean \"weights\"?");
}

// A text drawn to another split begins elsewhere: both parts together are the whole text still.
TEST(RandomSources, ASplitOfTextMovesThePartThatIsHeldOut) {
  const Model gpt = zoo_model("gpt-tiny");
  DataSeeds seeds(1);
  const auto plain = text_data("t", numbered_letters(), "letters", seeds);
  seeds.split = 5;
  const auto drawn = text_data("t", numbered_letters(), "letters", seeds);
  EXPECT_EQ(plain->samples(), drawn->samples());
  EXPECT_NE(samples_of<std::int64_t>(*plain, gpt, "input_ids", {70, 1}, true),
            samples_of<std::int64_t>(*drawn, gpt, "input_ids", {70, 1}, true));
  const auto held = samples_of<std::int64_t>(*drawn, gpt, "input_ids", {70, 1}, true);
  std::string text = numbered_letters(), again;
  text += text;
  std::vector<char> letters(text.begin(), text.end());
  std::sort(letters.begin(), letters.end());
  letters.erase(std::unique(letters.begin(), letters.end()), letters.end());
  for (const std::int64_t id : held) again += letters[static_cast<std::size_t>(id)];
  EXPECT_NE(text.find(again), std::string::npos) << "a held out part is one stretch of the text";
}

// Clicks keep their law and their evaluation samples, whatever order they are drawn in.
TEST(RandomSources, ClicksKeepTheirLawInAnotherOrder) {
  const Model model = zoo_model("dlrm-tiny");
  DataSeeds seeds(1);
  const auto plain = click_data(seeds);
  seeds.order = 2;
  const auto other = click_data(seeds);
  seeds.split = 4;
  const auto split = click_data(seeds);
  const auto read = [&](const DataSource& data, bool evaluation) {
    return samples_of<std::int64_t>(data, model, "labels", {400}, evaluation);
  };
  EXPECT_NE(read(*plain, false), read(*other, false));
  EXPECT_EQ(read(*plain, true), read(*other, true));
  EXPECT_NE(read(*other, true), read(*split, true));
  EXPECT_EQ(read(*other, false), read(*split, false));
}

// Both parts of a split that is drawn anew have every image once, as many each as before.
TEST(RandomSources, ASplitOfImagesDealsThemAnew) {
  if (!std::filesystem::is_directory(kFashionFolder)) GTEST_SKIP() << "not installed";
  const Model mlp = zoo_model("mlp-small");
  Training training;
  apply_training(training, "split-seed=3");
  const auto plain = open_data("fashion-mnist", 1),
             drawn = open_data("fashion-mnist", data_seeds(training));
  std::vector<std::int64_t> all;
  for (const bool evaluation : {false, true}) {
    const std::int64_t count = evaluation ? 10'000 : 60'000;
    const auto before = samples_of<std::int64_t>(*plain, mlp, "labels", {count}, evaluation),
               now = samples_of<std::int64_t>(*drawn, mlp, "labels", {count}, evaluation);
    EXPECT_NE(before, now);
    all.insert(all.end(), now.begin(), now.end());
  }
  for (std::int64_t label = 0; label < 10; ++label)
    EXPECT_EQ(std::count(all.begin(), all.end(), label), 7000);
}

TEST(RandomSources, OnlyDataThatCanBeSplitAre) {
  DataSeeds seeds(1);
  seeds.split = 2;
  EXPECT_EQ(testing::refusal([&] { open_data("random", seeds); }),
            "--train split-seed: expected none, because random has no split to draw, found 2");
  for (const DataEntry& entry : data_sources())
    EXPECT_EQ(&data_entry(entry.name), &entry) << entry.name;
  EXPECT_TRUE(data_entry("text:FILE").splits);
}

}  // namespace
}  // namespace trainyard
