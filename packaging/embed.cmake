# Writes OUT, a C++ source in which NAME() is the text of the file IN: what ships is found wherever the program stands.
#   cmake -D IN=FILE -D OUT=FILE.cpp -D NAME=shipped_rows -D HEADER=core/validation/shipped.h -P packaging/embed.cmake
# In pieces, because compilers need not accept a literal of more than 65,536 characters.
file(READ ${IN} text)
string(LENGTH "${text}" size)
set(pieces "")
set(at 0)
while(at LESS size)
  string(SUBSTRING "${text}" ${at} 8000 piece)
  string(APPEND pieces "    R\"piece~(${piece})piece~\",\n")
  math(EXPR at "${at} + 8000")
endwhile()
file(WRITE ${OUT}
     "#include \"${HEADER}\"\n\nnamespace trainyard {\nnamespace {\n\nconst char* const kPieces[] = {\n${pieces}};\n\n}"
     "  // namespace\n\nconst std::string& ${NAME}() {\n  static const std::string text = [] {\n    std::string all;\n"
     "    for (const char* piece : kPieces) all += piece;\n    return all;\n  }();\n  return text;\n}\n\n}"
     "  // namespace trainyard\n")
