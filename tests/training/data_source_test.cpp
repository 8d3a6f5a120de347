#include "core/training/data_source.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>

#include "core/model/zoo/presets.h"
#include "core/model/zoo/zoo.h"
#include "core/training/data/data_sources.h"
#include "core/training/data/sample_order.h"
#include "core/training/model_inputs.h"
#include "tests/support/non_empty.h"
#include "tests/support/tiny_models.h"
#include "tests/training/idx_writer.h"

namespace trainyard {
namespace {

using testing::gzip;
using testing::idx;

TEST(SampleOrder, EveryEpochIsAnotherPermutation) {
  for (std::int64_t samples : {1, 2, 3, 7, 64, 1000}) {
    std::vector<std::vector<std::int64_t>> epochs;
    for (int epoch = 0; epoch < 3; ++epoch) {
      std::vector<std::int64_t> order;
      for (std::int64_t i = 0; i < samples; ++i)
        order.push_back(sample_at(5, epoch * samples + i, samples));
      EXPECT_EQ(std::set(order.begin(), order.end()).size(), static_cast<std::size_t>(samples));
      EXPECT_EQ(*std::max_element(order.begin(), order.end()), samples - 1);
      epochs.push_back(std::move(order));
    }
    if (samples >= 64) {
      EXPECT_NE(epochs[0], epochs[1]);
      EXPECT_NE(epochs[1], epochs[2]);
      EXPECT_NE(sample_at(5, 0, samples), sample_at(6, 0, samples));
    }
  }
}

// Neighbours in the stream are not neighbours in the data: their distance is that of random pairs.
TEST(SampleOrder, IsWellMixed) {
  constexpr std::int64_t kSamples = 60000;
  double sum = 0;
  for (std::int64_t i = 1; i < kSamples; ++i)
    sum += std::abs(static_cast<double>(sample_at(1, i, kSamples) - sample_at(1, i - 1, kSamples)));
  EXPECT_NEAR(sum / kSamples / kSamples, 1.0 / 3, 0.01);
}

/// A folder for one test, removed at the end.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "trainyard-data-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ + "/" + name, std::ios::binary) << content;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

char pixel(int image, int at) { return static_cast<char>((image * 7 + at) % 256); }

std::string images(int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i)
    for (int p = 0; p < 784; ++p) bytes += pixel(i, p);
  return gzip(idx({static_cast<std::uint32_t>(count), 28, 28}, bytes));
}

std::unique_ptr<DataSource> small_fashion(const Folder& folder, bool augmented = false) {
  folder.write("train-images-idx3-ubyte.gz", images(5));
  folder.write("train-labels-idx1-ubyte.gz", gzip(idx({5}, std::string{0, 1, 2, 3, 9})));
  folder.write("t10k-images-idx3-ubyte.gz", images(2));
  folder.write("t10k-labels-idx1-ubyte.gz", gzip(idx({2}, std::string{4, 5})));
  return fashion_mnist(folder.path(), augmented, 1, {});
}

/// Asks for one of a model's inputs.
template <class T>
std::vector<T> ask(const DataSource& data, const Model& model, const std::string& name,
                   const std::vector<std::int64_t>& shape, std::int64_t first,
                   bool evaluation = false, std::int64_t first_token = 0) {
  for (const ModelInput& input : model_inputs(model)) {
    if (input.in_graph().name != name) continue;
    const DataRequest request{model, input.block->graph, input.tensor, shape,
                              first, evaluation,         first_token};
    std::vector<T> values(static_cast<std::size_t>(
        std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>())));
    data.fill(request, std::span<T>(values));
    return values;
  }
  ADD_FAILURE() << model.name << " has no input " << name;
  return {};
}

float normal(char pixel) {
  return (static_cast<float>(static_cast<unsigned char>(pixel)) / 255 - 0.2860f) / 0.3530f;
}

TEST(FashionMnist, FlatImagesAndTheirLabels) {
  const Folder folder;
  const auto data = small_fashion(folder);
  const Model mlp = zoo_model("mlp-small");
  EXPECT_TRUE(data->check(mlp).empty());
  EXPECT_EQ(data->samples(), 5);
  EXPECT_EQ(data->evaluation_samples(), 2);
  const auto test = ask<float>(*data, mlp, "input", {2, 784}, 0, true);
  for (int i = 0; i < 2; ++i)
    for (int p = 0; p < 784; ++p)
      ASSERT_FLOAT_EQ(test[static_cast<std::size_t>(i * 784 + p)], normal(pixel(i, p)));
  EXPECT_EQ(ask<std::int64_t>(*data, mlp, "labels", {2}, 0, true),
            (std::vector<std::int64_t>{4, 5}));
  // Training: images and labels stay together, and an epoch has each once.
  const auto drawn = ask<float>(*data, mlp, "input", {5, 784}, 0);
  const auto labels = ask<std::int64_t>(*data, mlp, "labels", {5}, 0);
  const std::int64_t of_image[] = {0, 1, 2, 3, 9};
  std::multiset<std::int64_t> seen;
  for (std::size_t i = 0; i < 5; ++i) {
    const auto* start = &drawn[i * 784];
    for (int image = 0; image < 5; ++image)
      if (*start == normal(pixel(image, 0))) {
        EXPECT_EQ(labels[i], of_image[image]);
        seen.insert(labels[i]);
      }
  }
  EXPECT_EQ(seen, (std::multiset<std::int64_t>{0, 1, 2, 3, 9}));
}

TEST(FashionMnist, LiesInTheMiddleOfAWiderTensorInEveryChannel) {
  const Folder folder;
  const auto data = small_fashion(folder);
  const Model resnet = zoo_model("resnet-20");
  EXPECT_TRUE(data->check(resnet).empty());
  const auto image = ask<float>(*data, resnet, "input", {1, 3, 32, 32}, 1, true);
  for (int c = 0; c < 3; ++c)
    for (int y = 0; y < 32; ++y)
      for (int x = 0; x < 32; ++x) {
        const bool inside = y >= 2 && y < 30 && x >= 2 && x < 30;
        ASSERT_FLOAT_EQ(image[static_cast<std::size_t>((c * 32 + y) * 32 + x)],
                        inside ? normal(pixel(1, (y - 2) * 28 + x - 2)) : normal(0));
      }
}

TEST(FashionMnist, AugmentsTrainingImagesOnly) {
  const Folder folder;
  const auto plain = small_fashion(folder), augmented = small_fashion(folder, true);
  const Model resnet = zoo_model("resnet-20");
  EXPECT_EQ(ask<float>(*plain, resnet, "input", {2, 3, 32, 32}, 0, true),
            ask<float>(*augmented, resnet, "input", {2, 3, 32, 32}, 0, true));
  EXPECT_EQ(ask<std::int64_t>(*plain, resnet, "labels", {5}, 0),
            ask<std::int64_t>(*augmented, resnet, "labels", {5}, 0));
  const auto first = ask<float>(*augmented, resnet, "input", {5, 3, 32, 32}, 0),
             second = ask<float>(*augmented, resnet, "input", {5, 3, 32, 32}, 5);
  EXPECT_NE(first, second);
  EXPECT_EQ(first, ask<float>(*augmented, resnet, "input", {5, 3, 32, 32}, 0));
  // A shift by up to two of the border's two pixels loses nothing.
  auto sorted = [](std::vector<float> values) {
    std::sort(values.begin(), values.end());
    return values;
  };
  EXPECT_EQ(sorted(first), sorted(ask<float>(*plain, resnet, "input", {5, 3, 32, 32}, 0)));
}

TEST(FashionMnist, SaysWhatDoesNotFit) {
  const Folder folder;
  const auto data = small_fashion(folder);
  const auto sentence = [&](const Model& model) {
    const Diagnostics found = data->check(model);
    return found.empty() ? "" : found[0].message;
  };
  EXPECT_EQ(sentence(testing::tiny_mlp(1)),
            "images of 28 x 28 pixels fit [batch, 784] or [batch, channels, 28 or more, 28 or "
            "more], found input/input of shape [batch, 3]");
  EXPECT_EQ(sentence(build_mlp({"few", 784, 4, 1, 3})),
            "Fashion-MNIST has 10 classes, found a loss over 3");
  EXPECT_EQ(sentence(zoo_model("gpt-tiny")),
            "Fashion-MNIST has an image and a label a sample and nothing for embedding/input_ids "
            "of shape [sequence, batch]");
}

// The name of what an image shows stands behind the image's own places.
TEST(FashionMnist, NamesItsImagesForModelsThatReadText) {
  const Folder folder;
  const auto data = small_fashion(folder);
  const Model model = zoo_model("vlm-tiny");
  EXPECT_TRUE(data->check(model).empty());
  EXPECT_EQ(default_data(model), "fashion-mnist");
  const auto text = [&](const std::string& name, std::int64_t first_token) {
    std::string read;
    for (const std::int64_t id :
         ask<std::int64_t>(*data, model, name, {12, 2}, 0, true, first_token))
      read += static_cast<char>(id);
    return read;
  };
  // Characters are in the order of tokens, and for each token of the samples: a coat and a sandal,
  // whose images are four places long.
  EXPECT_EQ(text("input_ids", 0), "        csoaantd a l    ");
  EXPECT_EQ(text("labels", 0), "      csoaantd a l      ");
  EXPECT_EQ(text("labels", 3), "csoaantd a l            ");
  const auto refused = [&](const char* preset) {
    return data->check(preset_model(preset)).at(0).message;
  };
  EXPECT_EQ(refused("vision-language:images=2,channels=1"),
            "Fashion-MNIST has one image a sample, found several, one below the other, in "
            "vision_embedding/image of shape [batch, 1, 896, 448]");
  EXPECT_EQ(refused("vision-language:vocab=100"),
            "captions are of 128 characters, found embedding/input_ids for 100 of them");
}

TEST(FashionMnist, RefusesFoldersThatAreNotIt) {
  const auto refusal = [](const Folder& folder) {
    try {
      fashion_mnist(folder.path(), false, 1, {});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::InvalidInput);
      return std::string(error.what());
    }
    return std::string();
  };
  const Folder empty, folder;
  EXPECT_NE(refusal(empty), "");
  small_fashion(folder);
  folder.write("train-labels-idx1-ubyte.gz", gzip(idx({4}, std::string{0, 1, 2, 3})));
  EXPECT_EQ(refusal(folder), "expected a label for each of 5 images, found 4");
  folder.write("train-labels-idx1-ubyte.gz", gzip(idx({5}, std::string{0, 1, 2, 3, 10})));
  EXPECT_EQ(refusal(folder), "expected labels from 0 to 9, found 10");
  folder.write("train-images-idx3-ubyte.gz", gzip(idx({5, 2, 2}, std::string(20, 'a'))));
  EXPECT_EQ(refusal(folder), "expected images of 28 x 28, found an array of 5 x 2 x 2");
}

TEST(FashionMnist, TheInstalledDataSet) {
  if (!std::filesystem::is_directory(kFashionFolder)) GTEST_SKIP() << "not installed";
  double done = 0;
  const auto data = open_data("fashion-mnist", 1, [&](double share) { done = share; });
  EXPECT_EQ(data->samples(), 60000);
  EXPECT_EQ(data->evaluation_samples(), 10000);
  EXPECT_EQ(done, 1);
  const Model mlp = zoo_model("mlp-small");
  const auto labels = ask<std::int64_t>(*data, mlp, "labels", {60000}, 0);
  for (std::int64_t label = 0; label < 10; ++label)
    EXPECT_EQ(std::count(labels.begin(), labels.end(), label), 6000);
  const auto pixels = ask<float>(*data, mlp, "input", {2000, 784}, 0);
  double sum = 0, squares = 0;
  for (float x : pixels) sum += x, squares += double{x} * x;
  EXPECT_NEAR(sum / static_cast<double>(pixels.size()), 0, 0.02);
  EXPECT_NEAR(squares / static_cast<double>(pixels.size()), 1, 0.03);
}

std::string letters() {
  std::string text;
  for (int i = 0; i < 500; ++i) text += static_cast<char>('a' + i * i % 23);
  return text;
}

TEST(TextData, LabelsAreTheNextCharacters) {
  const auto data = text_data("t", letters(), "letters", 1);
  const Model gpt = zoo_model("gpt-tiny");
  EXPECT_TRUE(data->check(gpt).empty());
  EXPECT_EQ(data->samples(), 450);
  const auto ids = ask<std::int64_t>(*data, gpt, "input_ids", {10, 3}, 7),
             labels = ask<std::int64_t>(*data, gpt, "labels", {10, 3}, 7);
  for (std::size_t s = 0; s < 9; ++s)
    for (std::size_t b = 0; b < 3; ++b) EXPECT_EQ(labels[s * 3 + b], ids[(s + 1) * 3 + b]);
  EXPECT_EQ(ask<std::int64_t>(*data, gpt, "position_ids", {4, 1}, 0, false, 6),
            (std::vector<std::int64_t>{6, 7, 8, 9}));
  for (std::int64_t id : testing::non_empty(ids)) EXPECT_LT(id, 23);
}

// A decoder reads on where its encoder ends, and its labels are the characters after those.
TEST(TextData, ADecoderContinuesWhatItsEncoderReads) {
  const auto data = text_data("t", letters(), "letters", 1);
  const Model model = zoo_model("transformer-tiny");
  EXPECT_TRUE(data->check(model).empty());
  for (const bool evaluation : {false, true}) {
    const auto stretch = ask<std::int64_t>(*data, zoo_model("gpt-tiny"), "input_ids", {21, 3}, 7,
                                           evaluation),
               encoded = ask<std::int64_t>(*data, model, "input_ids", {10, 3}, 7, evaluation),
               decoded =
                   ask<std::int64_t>(*data, model, "decoder_input_ids", {10, 3}, 7, evaluation),
               labels = ask<std::int64_t>(*data, model, "labels", {10, 3}, 7, evaluation);
    for (std::size_t e = 0; e < 30; ++e) {
      EXPECT_EQ(encoded[e], stretch[e]);
      EXPECT_EQ(decoded[e], stretch[30 + e]);
      EXPECT_EQ(labels[e], stretch[33 + e]);
    }
  }
}

// The characters are the same however a stretch or a microbatch is divided over devices.
TEST(TextData, AnyLayoutSeesTheSameSamples) {
  const auto data = text_data("t", letters(), "letters", 1);
  const Model gpt = zoo_model("gpt-tiny");
  const auto whole = ask<std::int64_t>(*data, gpt, "input_ids", {8, 4}, 20);
  for (std::int64_t b = 0; b < 4; ++b)
    for (std::int64_t part = 0; part < 2; ++part) {
      const auto half = ask<std::int64_t>(*data, gpt, "input_ids", {4, 1}, 20 + b, false, part * 4);
      for (std::int64_t s = 0; s < 4; ++s)
        EXPECT_EQ(half[static_cast<std::size_t>(s)],
                  whole[static_cast<std::size_t>((part * 4 + s) * 4 + b)]);
    }
}

TEST(TextData, TheHeldOutTenthIsNeverTrainedOn) {
  const auto data = text_data("t", std::string(450, 'a') + std::string(50, 'b'), "ab", 1);
  const Model gpt = zoo_model("gpt-tiny");
  for (std::int64_t id : testing::non_empty(ask<std::int64_t>(*data, gpt, "labels", {128, 450}, 0)))
    EXPECT_EQ(id, 0);
  for (std::int64_t id :
       testing::non_empty(ask<std::int64_t>(*data, gpt, "labels", {128, 4}, 0, true)))
    EXPECT_EQ(id, 1);
}

TEST(TextData, SaysWhatDoesNotFit) {
  const auto data = text_data("t", letters(), "letters", 1);
  const auto sentence = [&](const Model& model) {
    const Diagnostics found = data->check(model);
    return found.empty() ? "" : found[0].message;
  };
  EXPECT_EQ(sentence(testing::tiny_transformer()),
            "t has 12 distinct characters, found embedding/input_ids for 7 of them");
  EXPECT_NE(sentence(zoo_model("bert-base")), "");
  EXPECT_NE(sentence(zoo_model("resnet-20")), "");
  EXPECT_THROW(text_data("t", "short", "", 1), Error);
}

TEST(TextData, LicensesAreOrdinaryFilesInOrder) {
  const Folder folder;
  folder.write("b", std::string(200, 'b'));
  folder.write("a", std::string(200, 'a'));
  std::filesystem::create_symlink(folder.path() + "/b", folder.path() + "/c");
  const auto data = license_text(folder.path(), 1);
  EXPECT_EQ(data->samples(), 360);
  EXPECT_NE(data->provenance().find("2 files"), std::string::npos) << data->provenance();
  EXPECT_THROW(license_text(folder.path() + "/nothing", 1), Error);
}

TEST(ClickData, IsALawThatCanBeLearnt) {
  const auto data = click_data(3);
  const Model dlrm = zoo_model("dlrm-tiny");
  EXPECT_TRUE(data->check(dlrm).empty());
  const auto labels = ask<std::int64_t>(*data, dlrm, "labels", {20000}, 0);
  double clicks = 0;
  for (std::int64_t label : testing::non_empty(labels)) {
    ASSERT_TRUE(label == 0 || label == 1);
    clicks += static_cast<double>(label);
  }
  const double share = clicks / 20000;
  EXPECT_GT(share, 0.1);
  EXPECT_LT(share, 0.6);
  const double guess = -share * std::log(share) - (1 - share) * std::log(1 - share),
               best = best_click_loss(3, dlrm, 20000);
  EXPECT_LT(best, 0.8 * guess) << guess;
  EXPECT_GT(best, 0.2);
}

TEST(ClickData, CategoriesFollowZipf) {
  const auto data = click_data(3);
  const Model dlrm = zoo_model("dlrm-tiny");
  const auto ids = ask<std::int64_t>(*data, dlrm, "tables.0.ids", {100000}, 0);
  std::vector<double> seen(1000);
  for (std::int64_t id : testing::non_empty(ids)) {
    ASSERT_GE(id, 0);
    ASSERT_LT(id, 1000);
    seen[static_cast<std::size_t>(id)] += 1;
  }
  const double all = std::log(1001);
  for (std::size_t r : {0u, 1u, 4u, 20u}) {
    const double expected = std::log((static_cast<double>(r) + 2) / (static_cast<double>(r) + 1));
    EXPECT_NEAR(seen[r] / 100000, expected / all, 5 * std::sqrt(expected / all / 100000));
  }
}

TEST(ClickData, EvaluationHasSamplesOfItsOwnAndLayoutsAgree) {
  const auto data = click_data(3);
  const Model dlrm = zoo_model("dlrm-tiny");
  const auto train = ask<float>(*data, dlrm, "input", {8, 13}, 0);
  EXPECT_NE(train, ask<float>(*data, dlrm, "input", {8, 13}, 0, true));
  const auto tail = ask<float>(*data, dlrm, "input", {4, 13}, 4);
  EXPECT_TRUE(std::equal(tail.begin(), tail.end(), train.begin() + 4 * 13));
  EXPECT_FALSE(data->check(zoo_model("resnet-20")).empty());
  EXPECT_FALSE(data->check(zoo_model("gpt-tiny")).empty());
}

TEST(RandomData, FitsEveryModelWithinItsLimits) {
  const auto data = open_data("random", 1);
  const Model gpt = testing::tiny_transformer();
  EXPECT_TRUE(data->check(gpt).empty());
  for (std::int64_t id :
       testing::non_empty(ask<std::int64_t>(*data, gpt, "input_ids", {5, 40}, 0))) {
    EXPECT_GE(id, 0);
    EXPECT_LT(id, 7);
  }
  const auto whole = ask<float>(*data, testing::tiny_mlp(1), "input", {4, 3}, 0);
  for (float x : testing::non_empty(whole)) EXPECT_LT(std::abs(x), 1);
  const auto last = ask<float>(*data, testing::tiny_mlp(1), "input", {1, 3}, 3);
  EXPECT_TRUE(std::equal(last.begin(), last.end(), whole.begin() + 9));
}

TEST(DataSources, ByNameAndByModel) {
  EXPECT_EQ(default_data(zoo_model("resnet-20")), "fashion-mnist");
  EXPECT_EQ(default_data(zoo_model("mlp-small")), "fashion-mnist");
  EXPECT_EQ(default_data(zoo_model("gpt-tiny")), "licenses");
  EXPECT_EQ(default_data(zoo_model("dlrm-tiny")), "clicks");
  EXPECT_EQ(default_data(testing::tiny_mlp(1)), "random");
  EXPECT_EQ(default_data(testing::tiny_transformer()), "random");
  try {
    open_data("fashion", 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "expected fashion-mnist, fashion-mnist-augmented, licenses, clicks, cart-pole, "
              "cart-pole-policy, "
              "random or text:FILE, found \"fashion\"");
  }
  EXPECT_THROW(open_data("text:/nothing/here", 1), Error);
  const Folder folder;
  folder.write("poem", letters());
  EXPECT_EQ(open_data("text:" + folder.path() + "/poem", 1)->samples(), 450);
}

}  // namespace
}  // namespace trainyard
