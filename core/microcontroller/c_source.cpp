#include "core/microcontroller/c_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "core/microcontroller/c_kernels.h"

namespace trainyard {
namespace {

constexpr std::size_t kLine = 96;

std::string in_capitals(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// Neither the end of the comment nor a character that does not print may come from a name.
std::string comment_line(const std::string& line) {
  std::string plain = line;
  for (std::size_t i = 0; i < plain.size(); ++i)
    if (plain[i] < ' ' || plain[i] > '~' || (plain[i] == '/' && i > 0 && plain[i - 1] == '*'))
      plain[i] = '?';
  return plain;
}

std::string comment(const std::vector<std::string>& about) {
  std::string text = "/*";
  for (const std::string& line : about) text += " " + comment_line(line) + "\n  ";
  text += " */\n";
  return text;
}

template <class Numbers>
std::string array_of(std::string_view type, const std::string& name, const Numbers& numbers) {
  std::string text = fmt::format("static const {} {}[{}] = {{", type, name, numbers.size());
  std::string line;
  for (const auto number : numbers) {
    const std::string word = fmt::format("{},", static_cast<std::int64_t>(number));
    if (line.empty() || line.size() + 1 + word.size() > kLine) {
      text += line + "\n";
      line = "   ";
    }
    line += " " + word;
  }
  return text + line + "\n};\n";
}

bool has_windows(MicroOp op) {
  return op != MicroOp::FullyConnected && op != MicroOp::Add && op != MicroOp::Relu;
}
bool rescales(MicroOp op) { return op != MicroOp::Relu && op != MicroOp::MaxPool; }

class CWriter {
 public:
  CWriter(const IntegerNetwork& network, std::string name, const std::vector<std::string>& about)
      : network_(network), name_(std::move(name)), capitals_(in_capitals(name_)), about_(about) {}

  std::string header() const {
    const IntegerTensor &in = network_.tensor(network_.input),
                        &out = network_.tensor(network_.output);
    std::string text = comment(about_);
    text += fmt::format(
        "#ifndef {0}_H\n#define {0}_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n", capitals_);
    text += fmt::format(
        "/* An image of height x width x channels, channels fastest. */\n"
        "#define {0}_INPUT_HEIGHT {1}\n#define {0}_INPUT_WIDTH {2}\n"
        "#define {0}_INPUT_CHANNELS {3}\n#define {0}_INPUT_BYTES {4}\n"
        "#define {0}_OUTPUT_BYTES {5}\n#define {0}_ARENA_BYTES {6}\n\n",
        capitals_, in.size.height, in.size.width, in.size.channels, in.size.elements(),
        out.size.elements(), network_.arena.value);
    text += fmt::format(
        "/* A number q stands for SCALE * (q - ZERO). */\n"
        "#define {0}_INPUT_SCALE {1:.9g}f\n#define {0}_INPUT_ZERO ({2})\n"
        "#define {0}_OUTPUT_SCALE {3:.9g}f\n#define {0}_OUTPUT_ZERO ({4})\n\n",
        capitals_, in.scale.scale, in.scale.zero, out.scale.scale, out.scale.zero);
    text += fmt::format(
        "/* Fills output with the scores of the classes, the largest of which is the answer: a\n"
        "   softmax of them, as real numbers, gives their shares. Returns 0, or 1 where the arena\n"
        "   has fewer than {0}_ARENA_BYTES bytes; nothing is then written. What the arena held\n"
        "   before does not matter. Allocates nothing and keeps nothing between calls. */\n"
        "int {1}_run(const int8_t *input, int8_t *output, uint8_t *arena, size_t bytes);\n\n"
        "#endif\n",
        capitals_, name_);
    return text;
  }

  std::string source() const {
    std::string text = comment(about_);
    text += fmt::format("#ifndef {}_H\n#include \"{}.h\"\n#endif\n\n", capitals_, name_);
    text += fmt::format(
        "enum {{ CALLERS_INPUT = {}, CALLERS_OUTPUT = {}, NONE = {}, SUM_BITS = {} }};\n\n",
        kCallersInput, kCallersOutput, kNone, kSumBits);
    text += c_prelude();
    const std::vector<MicroOp> used = ops();
    if (std::any_of(used.begin(), used.end(), rescales)) text += c_rounding();
    if (std::any_of(used.begin(), used.end(), has_windows)) text += c_windows();
    for (const MicroOp op : used) text += c_kernel(op);
    text += "\n";
    for (std::size_t i = 0; i < network_.layers.size(); ++i) add_constants(i, text);
    text += fmt::format("static const struct layer layers[{}] = {{\n", network_.layers.size());
    for (std::size_t i = 0; i < network_.layers.size(); ++i) add_row(i, text);
    text += "};\n\n";
    add_run(used, text);
    return text;
  }

 private:
  static constexpr int kNone = -3;

  std::vector<MicroOp> ops() const {
    std::vector<MicroOp> used;
    for (const IntegerLayer& layer : network_.layers)
      if (std::find(used.begin(), used.end(), layer.op) == used.end()) used.push_back(layer.op);
    std::sort(used.begin(), used.end());
    return used;
  }

  void add_constants(std::size_t index, std::string& text) const {
    const IntegerLayer& layer = network_.layers[index];
    text += fmt::format("/* {} */\n", comment_line(layer.name));
    if (!layer.weights.empty()) {
      text += array_of("int8_t", fmt::format("weights_{}", index), layer.weights);
      text += array_of("int32_t", fmt::format("bias_{}", index), layer.bias);
    }
    if (layer.factors.empty()) return;
    std::vector<std::int32_t> multipliers, shifts;
    for (const Requantisation& factor : layer.factors) {
      multipliers.push_back(factor.multiplier);
      shifts.push_back(factor.shift);
    }
    text += array_of("int32_t", fmt::format("multipliers_{}", index), multipliers);
    text += array_of("int8_t", fmt::format("shifts_{}", index), shifts);
  }

  static std::string size_text(const ImageSize& size) {
    return fmt::format("{{{}, {}, {}}}", size.height, size.width, size.channels);
  }

  void add_row(std::size_t index, std::string& text) const {
    const IntegerLayer& layer = network_.layers[index];
    const IntegerTensor &in = network_.tensor(layer.inputs[0]),
                        &out = network_.tensor(layer.output);
    const bool two = layer.inputs.size() > 1;
    const IntegerTensor& also = network_.tensor(layer.inputs.back());
    const KernelWindow& w = layer.window;
    const auto constant = [&](std::string_view what, bool there) {
      return there ? fmt::format("{}_{}", what, index) : "0";
    };
    text +=
        fmt::format("    {{{}, {}, {}, {}, {}, {},\n", static_cast<int>(layer.op), in.offset,
                    two ? also.offset : kNone, out.offset, size_text(in.size), size_text(out.size));
    text += fmt::format("     {}, {}, {}, {}, {}, {}, {}, {}, {}, {},\n", w.height, w.width,
                        w.stride, w.above, w.left, in.scale.zero, two ? also.scale.zero : 0,
                        out.scale.zero, layer.low, layer.high);
    text += fmt::format(
        "     {}, {}, {}, {}}}, /* {} */\n", constant("weights", !layer.weights.empty()),
        constant("bias", !layer.bias.empty()), constant("multipliers", !layer.factors.empty()),
        constant("shifts", !layer.factors.empty()), comment_line(layer.name));
  }

  void add_run(const std::vector<MicroOp>& used, std::string& text) const {
    text += fmt::format(
        "int {}_run(const int8_t *input, int8_t *output, uint8_t *arena, size_t bytes) {{\n"
        "  int8_t *const memory = (int8_t *)arena;\n"
        "  size_t i;\n"
        "  {}\n"
        "  for (i = 0; i < sizeof(layers) / sizeof(layers[0]); ++i) {{\n"
        "    const struct layer *l = &layers[i];\n"
        "    const int8_t *in = l->from == CALLERS_INPUT ? input : memory + l->from;\n"
        "    const int8_t *also = l->also == NONE            ? 0\n"
        "                         : l->also == CALLERS_INPUT ? input\n"
        "                                                    : memory + l->also;\n"
        "    int8_t *out = l->to == CALLERS_OUTPUT ? output : memory + l->to;\n"
        "    switch (l->op) {{\n",
        name_,
        network_.arena.value == 0 ? "(void)bytes; /* no arena is needed */"
                                  : "if (bytes < " + capitals_ + "_ARENA_BYTES) return 1;");
    for (const MicroOp op : used)
      text += fmt::format("      case {}:\n        {}(l, in, also, out);\n        break;\n",
                          static_cast<int>(op), c_kernel_name(op));
    text += "    }\n  }\n  return 0;\n}\n";
  }

  const IntegerNetwork& network_;
  std::string name_, capitals_;
  const std::vector<std::string>& about_;
};

}  // namespace

std::string c_name(std::string_view model) {
  std::string name;
  for (const char c : model) {
    const auto byte = static_cast<unsigned char>(c);
    name += byte < 128 && std::isalnum(byte) != 0 ? static_cast<char>(std::tolower(byte)) : '_';
  }
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0)
    name.insert(0, "model_");
  return name.substr(0, 63);
}

CSource c_source(const IntegerNetwork& network, const std::string& name,
                 const std::vector<std::string>& about) {
  const CWriter writer(network, name, about);
  return {writer.header(), writer.source()};
}

}  // namespace trainyard
