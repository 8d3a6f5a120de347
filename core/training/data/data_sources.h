// This file declares the kinds of data, one source file each.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/training/data_source.h"

namespace trainyard {

using LoadProgress = std::function<void(double)>;  // argument: share done; may be empty

/// Opens images and labels of Debian's dataset-fashion-mnist in a folder. With `augmented`,
/// training images are shifted and mirrored at random.
std::unique_ptr<DataSource> fashion_mnist(const std::string& folder, bool augmented,
                                          const DataSeeds&, const LoadProgress&);
inline constexpr std::string_view kFashionFolder = "/usr/share/datasets/fashion-mnist";

/// Opens the characters of a text; provenance says where it is from.
std::unique_ptr<DataSource> text_data(std::string_view name, std::string text,
                                      std::string provenance, const DataSeeds&);
/// Opens the ordinary files of the folder, sorted by name.
std::unique_ptr<DataSource> license_text(const std::string& folder, const DataSeeds&);
inline constexpr std::string_view kLicenseFolder = "/usr/share/common-licenses";

/// Opens artificial clicks, whose categories follow Zipf's law of this exponent.
std::unique_ptr<DataSource> click_data(const DataSeeds&);
inline constexpr double kClickZipf = 1;
/// Returns the mean loss over the first samples for the exact law from which clicks are drawn; a
/// model's loss is lower only by chance.
double best_click_loss(std::uint64_t seed, const Model&, std::int64_t samples);

/// Opens deep Q-learning on the cart-pole (cart_pole.h).
std::unique_ptr<DataSource> cart_pole_data(std::uint64_t seed);

std::unique_ptr<DataSource> random_source(std::uint64_t seed);

}  // namespace trainyard
