#include "visualizers/drawing/png.h"

#include <png.h>

#include "core/base/error.h"

namespace trainyard {
namespace {

// libpng's simplified interface: it keeps its errors in the struct and frees itself, no jumps
// across our frames.
struct PngImage {
  png_image image{};
  PngImage() { image.version = PNG_IMAGE_VERSION; }
  ~PngImage() { png_image_free(&image); }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;
};

Error refused(const png_image& image) {
  return {Error::Kind::InvalidInput, std::string("not a PNG that can be read: ") + image.message};
}

// A file of a few bytes can claim any size, and memory is taken before its pixels are seen.
constexpr std::uint64_t kMostPixels = 1u << 26;  // 256 MiB of RGBA

}  // namespace

std::string to_png(const Image& image) {
  if (image.empty()) throw Error(Error::Kind::InvalidInput, "an image without pixels has no PNG");
  PngImage png;
  png.image.width = static_cast<png_uint_32>(image.width);
  png.image.height = static_cast<png_uint_32>(image.height);
  png.image.format = PNG_FORMAT_RGBA;
  png_alloc_size_t size = 0;
  if (!png_image_write_to_memory(&png.image, nullptr, &size, 0, image.rgba.data(), 0, nullptr))
    throw Error(Error::Kind::Internal, std::string("libpng: ") + png.image.message);
  std::string bytes(size, '\0');
  if (!png_image_write_to_memory(&png.image, bytes.data(), &size, 0, image.rgba.data(), 0, nullptr))
    throw Error(Error::Kind::Internal, std::string("libpng: ") + png.image.message);
  bytes.resize(size);
  return bytes;
}

Image read_png(const std::string& bytes) {
  PngImage png;
  if (!png_image_begin_read_from_memory(&png.image, bytes.data(), bytes.size()))
    throw refused(png.image);
  if (std::uint64_t{png.image.width} * png.image.height > kMostPixels)
    throw Error(Error::Kind::InvalidInput,
                "expected a PNG of at most " + std::to_string(kMostPixels) + " pixels, found " +
                    std::to_string(png.image.width) + " x " + std::to_string(png.image.height));
  png.image.format = PNG_FORMAT_RGBA;
  Image image;
  resize(image, static_cast<int>(png.image.width), static_cast<int>(png.image.height));
  if (!png_image_finish_read(&png.image, nullptr, image.rgba.data(), 0, nullptr))
    throw refused(png.image);
  return image;
}

}  // namespace trainyard
