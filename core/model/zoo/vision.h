// A vision tower turns the images of a sample into tokens, and a projector gives these the width of
// a decoder, in whose sequence they take the first places. The text's tokens and its loss stay as
// they are: what is written at the places of images is not read.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/model/zoo/builders.h"

namespace trainyard {

/// Widths of a projector's product that follow from those of others: the decoder's, that of what
/// the product reads, and that of the tower's tokens.
inline constexpr std::int64_t kDecoderWidth = 0, kSameWidth = -1, kTowerWidth = -2;

/// ProjectorStep is one of the steps from the tower's output to the decoder's width.
struct ProjectorStep {
  enum class Kind : std::uint8_t {
    Norm,
    Merge,    // joins `size` x `size` neighbouring patches of an image into one token
    Average,  // takes their mean
    Product,
    Gelu,
  };
  Kind kind = Kind::Product;
  std::string_view name = {};  // of a norm or a product
  std::int64_t size = 0;       // Merge, Average: patches along a side, >= 1; Product: the width of
                               // what it gives, or one of the constants above
  NormKind norm = NormKind::Layer;  // Norm only
  bool bias = false;                // Product only
};

/// VisionSpec describes a tower over square images, and the projector behind it.
struct VisionSpec {
  TransformerSpec layers;   // vocab, sequence, embeddings and heads of a language model are not
                            // read; rotary positions are those of rows and columns
  std::int64_t images = 1;  // of one sample, >= 1
  std::int64_t image = 0;   // pixels along the side of each; whole patches
  std::int64_t patch = 14, channels = 3;
  std::int64_t frames = 1;   // copies of an image that the patch convolution takes as a short film
  bool patch_bias = false;   // of the patch convolution
  bool class_token = false;  // in front of each image's patches, and left out behind the tower
  bool position_table = false;                       // one learnt row for each token of an image
  std::string_view first_norm = {}, last_norm = {};  // names of norms around the layers; "" = none
  std::int64_t window = 0;  // pixels along the side of a square within which the layers attend; 0 =
                            // each image is one
  std::vector<std::int64_t> whole_layers = {};  // layers that attend to the whole image
                                                // nevertheless, ascending
  std::vector<ProjectorStep> projector;
};

/// Returns what the towers of a family share: names, norms, biases, projector. The families are
/// clip (LLaVA), siglip (Gemma 3), pixtral (Mistral 3), qwen2_vl, qwen2_5_vl, llama4 and internvl.
/// Throws Error{InvalidInput} with the nearest name.
VisionSpec vision_family(std::string_view family);
/// Returns the names that vision_family() accepts, in that order.
const std::vector<std::string>& vision_families();

/// Puts the tower and the projector in front of the decoder: the blocks vision_embedding,
/// vision_layers (or one for each run of equal layers) and projector, and the images into its block
/// `embedding`. Throws Error{InvalidInput} when an image is not whole patches, whole merged squares
/// or whole windows, with the nearest side that is, and when images leave no sequence for text.
Model with_vision(Model decoder, const VisionSpec&);

}  // namespace trainyard
