// SPDX-License-Identifier: Apache-2.0
// pictures DIRECTORY: writes the pictures of docs/limits.md there. Called by script/pictures.
#include <cstdio>
#include <fstream>

#include "pictures/drawing.h"

int main(int count, char** words) {
  using namespace penstock::pictures;
  if (count != 2) return std::fputs("usage: pictures DIRECTORY\n", stderr), 2;
  for (const Story& story : stories()) {
    const std::string path = std::string(words[1]) + "/" + story.file;
    std::ofstream file(path);
    file << drawn(story, simulate(story.limit, story.requests));
    if (!file.flush()) return std::fprintf(stderr, "pictures: %s cannot be written\n", path.c_str()), 1;
  }
}
