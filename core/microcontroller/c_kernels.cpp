#include "core/microcontroller/c_kernels.h"

namespace trainyard {
namespace {

constexpr std::string_view kPrelude = R"(struct image {
  int32_t height, width, channels;
};

struct layer {
  uint8_t op;
  int32_t from, also, to; /* offsets in the arena; CALLERS_INPUT, CALLERS_OUTPUT, NONE */
  struct image in, out;
  int32_t kernel_height, kernel_width, stride, above, left;
  int32_t zero_in, zero_also, zero_out, low, high;
  const int8_t *weights;
  const int32_t *bias;
  const int32_t *multipliers; /* of 31 bits, behind which the shift follows */
  const int8_t *shifts;
};
)";

constexpr std::string_view kRounding = R"(
/* value * multiplier * 2^(shift - 31): the upper half of twice the product, to the nearest, then
   the division by a power of two, to the nearest with halves away from zero (gemmlowp). */
static int32_t rescale(int32_t value, int32_t multiplier, int shift) {
  int64_t wide = value, product, floored;
  int32_t high, rest, mask, threshold;
  if (shift > 0) {
    wide *= (int64_t)1 << shift;
    if (wide > INT32_MAX) wide = INT32_MAX;
    if (wide < INT32_MIN) wide = INT32_MIN;
  }
  product = wide * multiplier;
  product += product >= 0 ? ((int64_t)1 << 30) : 1 - ((int64_t)1 << 30);
  high = (int32_t)(product / ((int64_t)1 << 31));
  if (shift >= 0) return high;
  mask = (int32_t)(((int64_t)1 << -shift) - 1);
  floored = high >= 0 ? high >> -shift : ~(~high >> -shift);
  rest = (int32_t)(high - floored * ((int64_t)1 << -shift));
  threshold = (mask >> 1) + (high < 0 ? 1 : 0);
  return (int32_t)(floored + (rest > threshold ? 1 : 0));
}

static int8_t finish(const struct layer *l, int32_t sum, int32_t factor) {
  int32_t number = rescale(sum, l->multipliers[factor], l->shifts[factor]) + l->zero_out;
  if (number < l->low) number = l->low;
  if (number > l->high) number = l->high;
  return (int8_t)number;
}
)";

constexpr std::string_view kWindows = R"(
/* The part [from, to) of a window, along one side, that lies in the image. */
struct inside {
  int32_t start, from, to;
};

static struct inside inside_of(int32_t start, int32_t kernel, int32_t size) {
  struct inside part;
  part.start = start;
  part.from = start < 0 ? -start : 0;
  part.to = kernel < size - start ? kernel : size - start;
  return part;
}
)";

constexpr std::string_view kProduct = R"(
static void run_product(const struct layer *l, const int8_t *in, const int8_t *also, int8_t *out) {
  const int32_t count = l->in.height * l->in.width * l->in.channels;
  const int8_t *weights = l->weights;
  int32_t o, i;
  (void)also;
  for (o = 0; o < l->out.channels; ++o, weights += count) {
    int32_t sum = l->bias[o];
    for (i = 0; i < count; ++i) sum += (in[i] - l->zero_in) * weights[i];
    out[o] = finish(l, sum, o);
  }
}
)";

constexpr std::string_view kConvolution = R"(
static void run_convolution(const struct layer *l, const int8_t *in, const int8_t *also,
                            int8_t *out) {
  int32_t y, x, o, row, i;
  (void)also;
  for (y = 0; y < l->out.height; ++y) {
    const struct inside rows =
        inside_of(y * l->stride - l->above, l->kernel_height, l->in.height);
    for (x = 0; x < l->out.width; ++x) {
      const struct inside columns =
          inside_of(x * l->stride - l->left, l->kernel_width, l->in.width);
      const int32_t count = (columns.to - columns.from) * l->in.channels;
      for (o = 0; o < l->out.channels; ++o) {
        int32_t sum = l->bias[o];
        for (row = rows.from; row < rows.to; ++row) {
          const int8_t *numbers =
              in + ((rows.start + row) * l->in.width + columns.start + columns.from) *
                       l->in.channels;
          const int8_t *weights =
              l->weights + ((o * l->kernel_height + row) * l->kernel_width + columns.from) *
                               l->in.channels;
          for (i = 0; i < count; ++i) sum += (numbers[i] - l->zero_in) * weights[i];
        }
        *out++ = finish(l, sum, o);
      }
    }
  }
}
)";

constexpr std::string_view kDepthwise = R"(
static void run_depthwise(const struct layer *l, const int8_t *in, const int8_t *also,
                          int8_t *out) {
  const int32_t copies = l->out.channels / l->in.channels;
  int32_t y, x, o, row, column;
  (void)also;
  for (y = 0; y < l->out.height; ++y) {
    const struct inside rows =
        inside_of(y * l->stride - l->above, l->kernel_height, l->in.height);
    for (x = 0; x < l->out.width; ++x) {
      const struct inside columns =
          inside_of(x * l->stride - l->left, l->kernel_width, l->in.width);
      for (o = 0; o < l->out.channels; ++o) {
        int32_t sum = l->bias[o];
        for (row = rows.from; row < rows.to; ++row)
          for (column = columns.from; column < columns.to; ++column)
            sum += (in[((rows.start + row) * l->in.width + columns.start + column) *
                           l->in.channels +
                       o / copies] -
                    l->zero_in) *
                   l->weights[(row * l->kernel_width + column) * l->out.channels + o];
        *out++ = finish(l, sum, o);
      }
    }
  }
}
)";

constexpr std::string_view kSum = R"(
/* Both inputs in a common scale, SUM_BITS bits finer than half of the coarser one's. */
static void run_sum(const struct layer *l, const int8_t *in, const int8_t *also, int8_t *out) {
  const int32_t count = l->out.height * l->out.width * l->out.channels;
  int32_t i;
  for (i = 0; i < count; ++i) {
    const int32_t one = (in[i] - l->zero_in) * ((int32_t)1 << SUM_BITS);
    const int32_t other = (also[i] - l->zero_also) * ((int32_t)1 << SUM_BITS);
    out[i] = finish(l,
                    rescale(one, l->multipliers[0], l->shifts[0]) +
                        rescale(other, l->multipliers[1], l->shifts[1]),
                    2);
  }
}
)";

constexpr std::string_view kRelu = R"(
static void run_relu(const struct layer *l, const int8_t *in, const int8_t *also, int8_t *out) {
  const int32_t count = l->out.height * l->out.width * l->out.channels;
  int32_t i;
  (void)also;
  for (i = 0; i < count; ++i) out[i] = in[i] < l->low ? (int8_t)l->low : in[i];
}
)";

constexpr std::string_view kLargest = R"(
static void run_largest(const struct layer *l, const int8_t *in, const int8_t *also, int8_t *out) {
  int32_t y, x, o, row, column;
  (void)also;
  for (y = 0; y < l->out.height; ++y) {
    const struct inside rows =
        inside_of(y * l->stride - l->above, l->kernel_height, l->in.height);
    for (x = 0; x < l->out.width; ++x) {
      const struct inside columns =
          inside_of(x * l->stride - l->left, l->kernel_width, l->in.width);
      for (o = 0; o < l->out.channels; ++o) {
        int8_t largest = -128;
        for (row = rows.from; row < rows.to; ++row)
          for (column = columns.from; column < columns.to; ++column) {
            const int8_t number =
                in[((rows.start + row) * l->in.width + columns.start + column) * l->in.channels +
                   o];
            if (number > largest) largest = number;
          }
        *out++ = largest;
      }
    }
  }
}
)";

constexpr std::string_view kMean = R"(
/* Padding counts as zeros; the factor divides by the whole window. */
static void run_mean(const struct layer *l, const int8_t *in, const int8_t *also, int8_t *out) {
  int32_t y, x, o, row, column;
  (void)also;
  for (y = 0; y < l->out.height; ++y) {
    const struct inside rows =
        inside_of(y * l->stride - l->above, l->kernel_height, l->in.height);
    for (x = 0; x < l->out.width; ++x) {
      const struct inside columns =
          inside_of(x * l->stride - l->left, l->kernel_width, l->in.width);
      for (o = 0; o < l->out.channels; ++o) {
        int32_t sum = 0;
        for (row = rows.from; row < rows.to; ++row)
          for (column = columns.from; column < columns.to; ++column)
            sum += in[((rows.start + row) * l->in.width + columns.start + column) *
                          l->in.channels +
                      o] -
                   l->zero_in;
        *out++ = finish(l, sum, 0);
      }
    }
  }
}
)";

}  // namespace

std::string_view c_prelude() { return kPrelude; }
std::string_view c_rounding() { return kRounding; }
std::string_view c_windows() { return kWindows; }

std::string_view c_kernel_name(MicroOp op) {
  switch (op) {
    case MicroOp::FullyConnected:
      return "run_product";
    case MicroOp::Convolution:
      return "run_convolution";
    case MicroOp::DepthwiseConvolution:
      return "run_depthwise";
    case MicroOp::Add:
      return "run_sum";
    case MicroOp::Relu:
      return "run_relu";
    case MicroOp::MaxPool:
      return "run_largest";
    case MicroOp::AveragePool:
      return "run_mean";
  }
  return "";
}

std::string_view c_kernel(MicroOp op) {
  switch (op) {
    case MicroOp::FullyConnected:
      return kProduct;
    case MicroOp::Convolution:
      return kConvolution;
    case MicroOp::DepthwiseConvolution:
      return kDepthwise;
    case MicroOp::Add:
      return kSum;
    case MicroOp::Relu:
      return kRelu;
    case MicroOp::MaxPool:
      return kLargest;
    case MicroOp::AveragePool:
      return kMean;
  }
  return "";
}

}  // namespace trainyard
