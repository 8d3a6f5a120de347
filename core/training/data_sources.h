// The kinds of data there are, one file each.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/training/data_source.h"

namespace trainyard {

using LoadProgress = std::function<void(double)>;  // share done; may be empty

/// Images and labels of Debian's dataset-fashion-mnist from a folder. augmented: training images
/// are shifted and mirrored at random.
std::unique_ptr<DataSource> fashion_mnist(const std::string& folder, bool augmented,
                                          std::uint64_t seed, const LoadProgress&);
inline constexpr std::string_view kFashionFolder = "/usr/share/datasets/fashion-mnist";

/// Characters of text; provenance says where it is from.
std::unique_ptr<DataSource> text_data(std::string_view name, std::string text,
                                      std::string provenance, std::uint64_t seed);
/// The ordinary files of the folder, by name.
std::unique_ptr<DataSource> license_text(const std::string& folder, std::uint64_t seed);
inline constexpr std::string_view kLicenseFolder = "/usr/share/common-licenses";

std::unique_ptr<DataSource> click_data(std::uint64_t seed);
/// Mean loss of who knows the law that clicks are drawn from, over the first samples: no model's is
/// lower but by chance.
double best_click_loss(std::uint64_t seed, const Model&, std::int64_t samples);

std::unique_ptr<DataSource> random_source(std::uint64_t seed);

}  // namespace trainyard
