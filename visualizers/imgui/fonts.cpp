#include "visualizers/imgui/fonts.h"

#include <cstdlib>
#include <filesystem>
#include <initializer_list>

namespace trainyard {
namespace {

namespace fs = std::filesystem;

// The first of the names that is a file in one of the folders; earlier folders win.
std::string find(std::initializer_list<std::string> folders,
                 std::initializer_list<const char*> names) {
  std::error_code ignored;
  for (const std::string& folder : folders)
    for (const char* name : names)
      if (!folder.empty() && fs::is_regular_file(fs::path(folder) / name, ignored))
        return (fs::path(folder) / name).string();
  return {};
}

}  // namespace

FontFiles font_files() {
  const char* given = std::getenv("TRAINYARD_FONTS");
  const std::string own = given == nullptr ? "" : given;
  const std::string root = "/usr/share/fonts/";
  const std::string inter = root + "opentype/inter", mono = root + "truetype/jetbrains-mono",
                    dejavu = root + "truetype/dejavu";
  FontFiles files;
  files.regular =
      find({own, inter, dejavu}, {"Inter-Regular.otf", "Inter-Regular.ttf", "DejaVuSans.ttf"});
  files.medium = find({own, inter}, {"Inter-Medium.otf", "Inter-Medium.ttf"});
  files.semi_bold = find({own, inter, dejavu},
                         {"Inter-SemiBold.otf", "Inter-SemiBold.ttf", "DejaVuSans-Bold.ttf"});
  files.mono = find({own, mono, dejavu}, {"JetBrainsMono-Regular.ttf", "DejaVuSansMono.ttf"});
  return files;
}

}  // namespace trainyard
