#include "core/io/bytes/files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/error.h"
#include "core/io/bytes/file_writer.h"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ("trainyard_files_" +
               std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }

  std::string refusal(const std::string& path, Bytes limit = 1_MiB) const {
    try {
      read_file(path, limit);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }
  fs::path folder_;
};

TEST_F(Files, WhatCannotBeReadIsSaid) {
  write_file_atomically(at("config.json"), std::string(2000, 'x'));
  EXPECT_EQ(refusal(at("confg.json")),
            "expected a file, found nothing there; did you mean \"config.json\"?");
  EXPECT_EQ(refusal(folder_.string()), "expected a file, found a folder");
  EXPECT_EQ(refusal(at("config.json"), 1_KiB), "expected at most 1.00 KiB, found 1.95 KiB");
  EXPECT_EQ(refusal("/dev/null"), "expected an ordinary file, found a device, pipe or socket");
  EXPECT_NE(refusal(at("config.json/x")), "accepted");
}

}  // namespace
}  // namespace trainyard
