#version 450
// The texture holds coverage: of glyphs, of patterns, and one white texel for everything else.
layout(location = 0) in vec4 in_colour;
layout(location = 1) in vec2 in_texel;
layout(set = 0, binding = 0) uniform sampler2D coverage;
layout(location = 0) out vec4 colour;

void main() { colour = vec4(in_colour.rgb, in_colour.a * texture(coverage, in_texel).r); }
