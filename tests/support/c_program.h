// Compiles an exported C program with the strictest warnings of C99 and runs it between guards.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/microcontroller/c_source.h"
#include "tests/app/run_program.h"

namespace trainyard::testing {

inline void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// A program that runs the network on each sample of standard input's file in an arena of exactly
/// its size, poisoned anew for each, between guards. It ends with 2 where a guard was changed, and
/// with 3 where an arena that is a byte too small was not refused.
inline std::string harness(const std::string& name) {
  const std::string text = R"(#include <stdio.h>
#include <stdlib.h>
#include <string.h>
INCLUDE
enum { GUARD = 64 };
int main(int count, char **words) {
  static int8_t input[CAPITALS_INPUT_BYTES], output[CAPITALS_OUTPUT_BYTES];
  static uint8_t memory[CAPITALS_ARENA_BYTES + 2 * GUARD];
  int poison, i;
  FILE *in = fopen(words[1], "rb"), *out = fopen(words[2], "wb");
  if (count != 3 || !in || !out) return 1;
  poison = 0x5a;
  while (fread(input, 1, sizeof input, in) == sizeof input) {
    memset(memory, poison, sizeof memory);
    memset(output, poison, sizeof output);
    if (CAPITALS_ARENA_BYTES > 0 && NAME_run(input, output, memory + GUARD, CAPITALS_ARENA_BYTES - 1) != 1) return 3;
    if (NAME_run(input, output, memory + GUARD, CAPITALS_ARENA_BYTES) != 0) return 4;
    for (i = 0; i < GUARD; ++i)
      if (memory[i] != poison || memory[GUARD + CAPITALS_ARENA_BYTES + i] != poison) return 2;
    fwrite(output, 1, sizeof output, out);
    poison ^= 0xff;
  }
  fclose(in);
  return fclose(out);
}
)";
  std::string capitals = name;
  for (char& c : capitals) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string made = text;
  for (const auto& [word, by] : {std::pair{std::string("INCLUDE"), "#include \"" + name + ".h\""},
                                 {"NAME", name},
                                 {"CAPITALS", capitals}})
    for (std::size_t at = made.find(word); at != std::string::npos;
         at = made.find(word, at + by.size()))
      made.replace(at, word.size(), by);
  return made;
}

/// Builds the program in the folder. Expects that the compiler says nothing.
inline void compile_c(const CSource& source, const std::string& name,
                      const std::filesystem::path& folder) {
  write_text(folder / (name + ".h"), source.header);
  write_text(folder / (name + ".c"), source.source);
  write_text(folder / "main.c", harness(name));
  const Ran plain = run_program(
      "/usr/bin/env",
      {"gcc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2",
       "-fsanitize=undefined", "-fno-sanitize-recover=all", "-o", "network", "main.c", name + ".c"},
      folder);
  ASSERT_EQ(plain.exit, 0) << plain.err;
}

/// Runs it on samples, one after the other, and returns the outputs of all.
inline std::vector<std::int8_t> run_c(const std::vector<std::vector<std::int8_t>>& samples,
                                      const std::filesystem::path& folder) {
  std::string inputs;
  for (const std::vector<std::int8_t>& sample : samples)
    inputs.append(reinterpret_cast<const char*>(sample.data()), sample.size());
  write_text(folder / "inputs", inputs);
  const Ran ran = run_program((folder / "network").string(), {"inputs", "outputs"}, folder);
  EXPECT_EQ(ran.exit, 0);
  const std::string outputs = file_text(folder / "outputs");
  return {outputs.begin(), outputs.end()};
}

}  // namespace trainyard::testing
