#include "core/program/program_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <type_traits>
#include <utility>

#include "core/base/nearest.h"
#include "core/model/ops.h"
#include "core/program/program_fields.h"

namespace trainyard {
namespace {

using Words = std::vector<std::string_view>;

/// The words of an enumeration in order of their values, from its to_string().
template <class E>
Words listed(E last) {
  Words words;
  for (int i = 0; i <= static_cast<int>(last); ++i) words.push_back(to_string(static_cast<E>(i)));
  return words;
}

const Words& words_of(Category) {
  static const Words words = listed(Category::Workspace);
  return words;
}
const Words& words_of(Provenance) {
  static const Words words = listed(Provenance::Guessed);
  return words;
}
const Words& words_of(CollectiveKind) {
  static const Words words = listed(kCollectiveKinds.back());
  return words;
}
const Words& words_of(Group) {
  static const Words words = listed(Group::Copies);
  return words;
}
const Words& words_of(Placement) {
  static const Words words = listed(Placement::Bidirectional);
  return words;
}
const Words& words_of(DType) {
  static const Words words = listed(DType::Flex16);
  return words;
}
const Words& words_of(TaskKind) {
  static const Words words = {"compute",   "collective",  "send",      "receive",
                              "host-copy", "host-update", "nvme-read", "nvme-write"};
  return words;
}
const Words& words_of(Phase) {
  static const Words words = {"F", "B", "I", "W", "U"};
  return words;
}
const Words& words_of(Pass) {
  static const Words words = {"forward", "backward-input", "backward-weight"};
  return words;
}
const Words& words_of(Holds) {
  static const Words words = {"other",     "saved",          "transient", "message",
                              "gathered",  "unreduced",      "weights",   "older-weights",
                              "gradients", "optimizer-state"};
  return words;
}
const Words& words_of(BodyList) {
  static const Words words = {"none", "forward", "backward", "reduce", "gather"};
  return words;
}
const Words& words_of(WorkKind) {
  static const Words words = {"product", "attention", "elementwise", "gather", "loss", "optimizer"};
  return words;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text)
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += c;
  return out + "\"";
}

// ------------------------------------------------------------------------------------- writing

/// Makes one "key=value" per field, or "" for a field without a value.
class FieldWriter {
 public:
  explicit FieldWriter(const Names& names) : names_(names) {}

  template <class T>
  void operator()(std::string_view key, const T& value) {
    tokens.push_back(text(key, value));
  }
  // The number of a kernel is that of one binary only, and its name is not.
  void operator()(std::string_view key, const std::int16_t& value) {
    if (key != "kernel") return tokens.push_back(text(key, value));
    const std::string name = kernel_name(value);
    tokens.push_back(name.empty() ? "" : fmt::format("{}={}", key, quoted(name)));
  }

  std::vector<std::string> tokens;

 private:
  template <class T>
  std::string text(std::string_view key, const T& value) const {
    if constexpr (std::is_same_v<T, bool>)
      return value ? std::string(key) : "";
    else if constexpr (std::is_same_v<T, NameId>)
      return value.valid() ? fmt::format("{}={}", key, quoted(names_[value])) : "";
    else if constexpr (std::is_same_v<T, std::string>)
      return fmt::format("{}={}", key, quoted(value));
    else if constexpr (std::is_enum_v<T>)
      return fmt::format("{}={}", key, words_of(value)[static_cast<std::size_t>(value)]);
    else if constexpr (std::is_same_v<T, Duration>)
      return fmt::format("{}={}ns", key, value.count());
    else if constexpr (std::is_arithmetic_v<T>)
      return fmt::format("{}={}", key, value);
    else
      return fmt::format("{}={}", key, value.value);
  }

  const Names& names_;
};

class Writer {
 public:
  explicit Writer(const Program& p) : p_(p) {}

  std::string run() {
    Program counts;
    counts.devices = p_.devices, counts.stages = p_.stages, counts.microbatches = p_.microbatches;
    counts.placement = p_.placement, counts.steps = p_.steps;
    counts.replicas = p_.replicas, counts.shard = p_.shard;
    line("program", std::move(counts));
    for (const Buffer& b : p_.buffers) {
      line("\nbuffer", b);
      for (std::uint32_t i = 0; i < b.parts; ++i) line("\n  part", p_.parts[b.first_part + i]);
    }
    for (const Task& t : p_.tasks) {
      line("\ntask", t);
      for (std::uint32_t i = 0; i < t.works; ++i) line("\n  work", p_.works[t.first_work + i]);
      for (std::uint32_t i = 0; i < t.effects; ++i)
        line("\n  effect", p_.effects[t.first_effect + i]);
    }
    for (const Stream& s : p_.streams) {
      line("\nstream", s);
      for (std::uint32_t i = s.first; i < s.first + s.count; ++i) instruction(i);
    }
    return std::move(out_) + "\n";
  }

 private:
  // Fields equal to those of a default entry are left out.
  template <class T>
  void line(std::string_view word, T entry) {
    static const std::vector<std::string> fresh = [] {
      const Names names;
      FieldWriter written(names);
      T none{};
      text_fields(written, none);
      return std::move(written.tokens);
    }();
    FieldWriter written(p_.names);
    text_fields(written, entry);
    out_ += word;
    for (std::size_t i = 0; i < fresh.size(); ++i)
      if (written.tokens[i] != fresh[i]) out_ += " " + written.tokens[i];
  }

  void instruction(std::uint32_t i) {
    const Instruction& in = p_.instructions[i];
    line("\n  do", in);
    for (std::uint32_t a = 0; a < in.afters; ++a) {
      out_ += a == 0 ? " after=" : ",";
      out_ += std::to_string(p_.after[in.first_after + a].value);
    }
    if (in.task.value >= p_.tasks.size()) return;
    out_ += "  # ";
    for (char c : describe(p_, {i})) out_ += c == '\n' || c == '\r' ? ' ' : c;
  }

  const Program& p_;
  std::string out_;
};

// ------------------------------------------------------------------------------------- reading

/// One "key=value" or "key" of a line; columns count from 1.
struct Token {
  std::string_view key, value;
  std::size_t key_column = 0, value_column = 0;
  bool has_value = false, used = false;
};

class ProgramLineReader {
 public:
  ProgramLineReader(std::string_view text, std::size_t line, const Place& place, Names& names)
      : text_(text), line_(line), place_(place), names_(names) {
    skip_spaces();
    if (done()) return;
    column_ = at_ + 1;
    word_ = take_word();
    for (skip_spaces(); !done(); skip_spaces()) tokens_.push_back(take_token());
  }

  std::string_view word() const { return word_; }  // "" on an empty line

  [[noreturn]] void refuse(std::size_t column, const std::string& expected, std::string_view found,
                           std::string_view hint = {}) const {
    throw Error(
        Error::Kind::InvalidInput,
        fmt::format("expected {}, found {}{}", expected,
                    found.empty() ? "nothing" : fmt::format("\"{}\"", found.substr(0, 40)), hint),
        {fmt::format("{}:{}:{}", place_.text, line_, column)});
  }
  [[noreturn]] void refuse_word(const std::string& expected) const {
    refuse(column_, expected, word_);
  }

  template <class T>
  void operator()(std::string_view key, T& value) {
    keys_.push_back(key);
    for (Token& token : tokens_)
      if (token.key == key && !token.used) {
        token.used = true;
        return read(token, value);
      }
  }

  void list(std::string_view key, std::vector<InstructionId>& values) {
    keys_.push_back(key);
    for (Token& token : tokens_) {
      if (token.key != key || token.used) continue;
      token.used = true;
      for (std::size_t at = 0; at <= token.value.size();) {
        const std::size_t end = std::min(token.value.find(',', at), token.value.size());
        Token part = token;
        part.value = token.value.substr(at, end - at);
        part.value_column += at;
        InstructionId id;
        read(part, id);
        values.push_back(id);
        at = end + 1;
      }
      return;
    }
  }

  /// Throws if a field is left over; call it after all fields of the entry were read.
  void finish() const {
    for (const Token& token : tokens_)
      if (!token.used) {
        const bool twice = std::find(keys_.begin(), keys_.end(), token.key) != keys_.end();
        refuse(token.key_column, twice ? "each key once" : "a key of " + std::string(word_),
               token.key, twice ? std::string() : did_you_mean(token.key, keys_));
      }
  }

 private:
  bool done() const { return at_ == text_.size() || text_[at_] == '#'; }
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  std::string_view take_word() {
    const std::size_t start = at_;
    at_ = std::min(text_.find_first_of(" \t=\"#", at_), text_.size());
    if (at_ == start) refuse(at_ + 1, "a word", text_.substr(at_, 1));
    return text_.substr(start, at_ - start);
  }

  Token take_token() {
    Token token;
    token.key_column = at_ + 1;
    token.key = take_word();
    if (at_ == text_.size() || text_[at_] != '=') return token;
    token.has_value = true;
    token.value_column = ++at_ + 1;
    const std::size_t start = at_;
    if (at_ < text_.size() && text_[at_] == '"') {
      for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_)
        if (text_[at_] == '\\') ++at_;
      if (at_ >= text_.size()) refuse(start + 1, "a closing quote", text_.substr(start));
      ++at_;
    } else {
      at_ = std::min(text_.find_first_of(" \t#", at_), text_.size());
    }
    token.value = text_.substr(start, at_ - start);
    return token;
  }

  template <class T>
  void read(const Token& token, T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      if (token.has_value)
        refuse(token.value_column, "no value: the key alone says yes", token.value);
      value = true;
    } else if constexpr (std::is_same_v<T, NameId>) {
      value = names_.intern(unquoted(token));
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = unquoted(token);
    } else if constexpr (std::is_enum_v<T>) {
      const Words& words = words_of(value);
      const auto found = std::find(words.begin(), words.end(), token.value);
      if (found == words.end())
        refuse(token.value_column, fmt::format("one of {}", fmt::join(words, ", ")), token.value);
      value = static_cast<T>(found - words.begin());
    } else if constexpr (std::is_same_v<T, std::int16_t>) {
      token.key == "kernel" ? read_kernel(token, value) : read_number(token, value);
    } else if constexpr (std::is_same_v<T, Duration>) {
      Token number = token;
      if (!token.value.ends_with("ns"))
        refuse(token.value_column, "nanoseconds, as in 1500ns", token.value);
      number.value.remove_suffix(2);
      std::int64_t count = 0;
      read_number(number, count);
      value = Duration(count);
    } else if constexpr (std::is_arithmetic_v<T>) {
      read_number(token, value);
    } else {
      read_number(token, value.value);
    }
  }

  void read_kernel(const Token& token, std::int16_t& value) {
    static const std::vector<std::string> names = [] {
      std::vector<std::string> all;
      for (std::int16_t k = 0; !kernel_name(k).empty(); ++k) all.push_back(kernel_name(k));
      return all;
    }();
    const std::string name = unquoted(token);
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      refuse(token.value_column, "an op and its pass, as \"matmul forward\"", name,
             did_you_mean(name, names));
    value = static_cast<std::int16_t>(found - names.begin());
  }

  template <class T>
  void read_number(const Token& token, T& value) {
    const char* end = token.value.data() + token.value.size();
    const auto [stop, failure] = std::from_chars(token.value.data(), end, value);
    bool good = failure == std::errc() && stop == end;
    if constexpr (std::is_floating_point_v<T>) good = good && std::isfinite(value);
    if (!good)
      refuse(token.value_column,
             std::is_floating_point_v<T> ? "a number"
             : std::is_unsigned_v<T>     ? "a whole number from 0 to 4294967295"
                                         : fmt::format("a whole number in {} bits", 8 * sizeof(T)),
             token.value);
  }

  std::string unquoted(const Token& token) const {
    const std::string_view text = token.value;
    if (!text.starts_with('"')) refuse(token.value_column, "text in quotes", text);
    std::string out;
    for (std::size_t i = 1; i + 1 < text.size(); ++i) {
      if (text[i] != '\\') {
        out += text[i];
      } else if (text[i + 1] != 'x') {
        out += text[++i];
      } else {
        unsigned code = 0;
        const std::string_view digits = text.substr(i + 2, 2);
        const auto [stop, failure] =
            std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
        if (failure != std::errc() || stop != digits.data() + 2)
          refuse(token.value_column + i, "two hexadecimal digits after \\x", digits);
        out += static_cast<char>(code);
        i += 3;
      }
    }
    return out;
  }

  std::string_view text_, word_;
  std::size_t line_, at_ = 0, column_ = 1;
  const Place& place_;
  Names& names_;
  std::vector<Token> tokens_;
  std::vector<std::string_view> keys_;
};

template <class T>
std::uint32_t size_of(const std::vector<T>& list) {
  return static_cast<std::uint32_t>(list.size());
}

class ProgramReader {
 public:
  void line(ProgramLineReader& in, std::size_t number) {
    const std::string_view word = in.word();
    if (word == "buffer") buffers_.push_back(number);
    if (word == "task") tasks_.push_back(number);
    if (word == "do") instructions_.push_back(number);
    if (!begun_ && word != "program") in.refuse_word("\"program\" in the first line");
    if (word == "program" && !begun_) {
      begun_ = true;
      fields(in, p_);
    } else if (word == "buffer") {
      add(in, p_.buffers).first_part = size_of(p_.parts);
    } else if (word == "part" && !p_.buffers.empty()) {
      add(in, p_.parts);
      ++p_.buffers.back().parts;
    } else if (word == "task") {
      Task& task = add(in, p_.tasks);
      task.first_work = size_of(p_.works), task.first_effect = size_of(p_.effects);
    } else if (word == "work" && !p_.tasks.empty()) {
      add(in, p_.works);
      ++p_.tasks.back().works;
    } else if (word == "effect" && !p_.tasks.empty()) {
      add(in, p_.effects);
      ++p_.tasks.back().effects;
    } else if (word == "stream") {
      add(in, p_.streams).first = size_of(p_.instructions);
    } else if (word == "do" && !p_.streams.empty()) {
      Instruction& made = add(in, p_.instructions);
      made.first_after = size_of(p_.after);
      in.list("after", p_.after);
      made.afters = size_of(p_.after) - made.first_after;
      ++p_.streams.back().count;
    } else {
      in.refuse_word(expected(word));
    }
    in.finish();
  }

  Program take() { return std::move(p_); }
  bool begun() const { return begun_; }
  /// Names the line of what a diagnostic of verify() names by its index.
  Place line_of(const Diagnostic& d, const Place& text) const {
    for (const auto& [word, lines] :
         {std::pair<std::string_view, const std::vector<std::size_t>&>{"program task ", tasks_},
          {"program buffer ", buffers_},
          {"program instruction ", instructions_}}) {
      const std::string& place = d.place.text;
      std::size_t index = 0;
      if (!place.starts_with(word)) continue;
      const auto read =
          std::from_chars(place.data() + word.size(), place.data() + place.size(), index);
      if (read.ec == std::errc() && index < lines.size())
        return {fmt::format("{}:{}: {}", text.text, lines[index], place.substr(8))};
    }
    return {fmt::format("{}: {}", text.text, d.place.text)};
  }
  Names& names() { return p_.names; }

 private:
  template <class T>
  T& add(ProgramLineReader& in, std::vector<T>& list) {
    text_fields(in, list.emplace_back());
    return list.back();
  }

  static std::string expected(std::string_view word) {
    if (word == "part") return "a buffer before its parts";
    if (word == "work" || word == "effect") return "a task before its works and effects";
    if (word == "do") return "a stream before its instructions";
    if (word == "program") return "one program";
    return "buffer, part, task, work, effect, stream or do";
  }

  Program p_;
  bool begun_ = false;
  std::vector<std::size_t> buffers_, tasks_, instructions_;  // the line of each, by index
};

/// Reads all lines; the program is in the reader then.
ProgramReader read_lines(std::string_view text, const Place& place) {
  ProgramReader reader;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view content = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (content.ends_with('\r')) content.remove_suffix(1);
    ProgramLineReader in(content, line, place, reader.names());
    if (!in.word().empty()) reader.line(in, line);
  }
  if (!reader.begun())
    throw Error(Error::Kind::InvalidInput,
                "expected \"program\" in the first line, found an empty text", place);
  return reader;
}

}  // namespace

std::string to_text(const Program& program) { return Writer(program).run(); }

Program parse_program(std::string_view text, const Place& place) {
  return read_lines(text, place).take();
}

Program parse_valid_program(std::string_view text, const Place& place) {
  ProgramReader reader = read_lines(text, place);
  Program program = reader.take();
  Diagnostics found = verify(program);
  for (Diagnostic& d : found) d.place = reader.line_of(d, place);
  throw_if_errors(found);
  return program;
}

}  // namespace trainyard
