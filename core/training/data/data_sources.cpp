#include "core/training/data/data_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/base/nearest.h"
#include "core/io/bytes/files.h"
#include "core/training/data/cart_pole_policy.h"
#include "core/training/model_inputs.h"

namespace trainyard {
namespace {

constexpr std::string_view kText = "text:";

std::string absent(std::string_view folder, std::string_view what, std::string_view package) {
  std::error_code ignored;
  if (std::filesystem::is_directory(folder, ignored)) return "";
  return fmt::format("{} is not there: {} come with \"apt install {}\"", folder, what, package);
}

std::string no_images() {
  return absent(kFashionFolder, "the images of Fashion-MNIST", "dataset-fashion-mnist");
}
std::string no_licenses() { return absent(kLicenseFolder, "texts of licenses", "base-files"); }
std::string never() { return ""; }

constexpr DataEntry kSources[] = {
    {"fashion-mnist",
     "70,000 images of clothes in ten classes, named in words for a model that reads text too "
     "(dataset-fashion-mnist)",
     no_images, false, true},
    {"fashion-mnist-augmented",
     "the same, training images shifted by up to 2 pixels and mirrored at random", no_images, true,
     true},
    {"licenses", "characters of the texts in /usr/share/common-licenses", no_licenses, false, true},
    {"clicks", "numbers, categories and clicks drawn from a law that can be learnt", never, false,
     true},
    {"cart-pole", "a pole that a cart keeps upright, learnt from what the model itself does",
     never},
    {"cart-pole-policy",
     "the same pole, learnt by policy gradient from episodes before each update", never},
    {"random", "noise of any shape, for tests and timing", never},
};

bool is_image(const Shape& shape) {
  return (shape.size() == 2 && shape[1].size == 784) ||
         (shape.size() == 4 && shape[2].size >= 28 && shape[3].size >= 28);
}

}  // namespace

std::span<const DataEntry> data_sources() { return kSources; }

std::string_view default_data(const Model& model) {
  constexpr std::int64_t kCharacters = 128;
  bool tables = false, image = false, text = false;
  for (const ModelInput& input : model_inputs(model)) {
    const Tensor& tensor = input.in_graph();
    if (input.role == InputRole::Numbers) image = is_image(tensor.shape);
    if (input.role != InputRole::Rows) continue;
    const bool ordered = has_axis(tensor, Axis::Sequence);
    text = text || (ordered && input.limit >= kCharacters);
    tables = tables || !ordered;
  }
  if (!has_errors(cart_pole_data(0)->check(model))) return "cart-pole";
  return tables ? "clicks" : image ? "fashion-mnist" : text ? "licenses" : "random";
}

const DataEntry& data_entry(std::string_view name) {
  if (name.substr(0, kText.size()) == kText) name = "licenses";
  std::vector<std::string_view> names;
  for (const DataEntry& entry : kSources) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  throw Error(Error::Kind::InvalidInput,
              fmt::format("expected {} or text:FILE, found \"{}\"{}", fmt::join(names, ", "),
                          name.substr(0, 80), did_you_mean(name.substr(0, 80), names)),
              {"--data"});
}

std::unique_ptr<DataSource> open_data(std::string_view name, const DataSeeds& seeds,
                                      const std::function<void(double)>& progress) {
  const DataEntry& entry = data_entry(name);
  if (seeds.split && !entry.splits)
    throw Error(
        Error::Kind::InvalidInput,
        fmt::format("expected none, because {} has no split to draw, found {}", name, *seeds.split),
        {"--train split-seed"});
  if (name.substr(0, kText.size()) == kText) {
    const std::string file(name.substr(kText.size()));
    return text_data(name, read_file(file), file, seeds);
  }
  if (const std::string missing = entry.absent(); !missing.empty())
    throw Error(Error::Kind::InvalidInput, missing, {"--data " + std::string(name)});
  if (name == "clicks") return click_data(seeds);
  if (name == "cart-pole") return cart_pole_data(seeds.order);
  if (name == "cart-pole-policy") return cart_pole_policy(seeds.order);
  if (name == "random") return random_source(seeds.order);
  if (name == "licenses") return license_text(std::string(kLicenseFolder), seeds);
  return fashion_mnist(std::string(kFashionFolder), entry.augmented, seeds, progress);
}

}  // namespace trainyard
