// These functions return the text of the lessons that ship inside the program (assets/lessons), one
// function per file.
#pragma once

#include <string>

namespace trainyard {

const std::string& shipped_lesson_01();
const std::string& shipped_lesson_02();
const std::string& shipped_lesson_03();
const std::string& shipped_lesson_04();
const std::string& shipped_lesson_05();
const std::string& shipped_lesson_06();
const std::string& shipped_lesson_07();
const std::string& shipped_lesson_08();
const std::string& shipped_lesson_09();
const std::string& shipped_lesson_10();
const std::string& shipped_lesson_11();
const std::string& shipped_lesson_12();
const std::string& shipped_lesson_13();

}  // namespace trainyard
