// Builds static/vendor/codemirror-*.min.js: npm ci && node build.mjs OUTPUT
import { build } from "esbuild";
import { readFile } from "node:fs/promises";

// style-mod adds a <style> element to documents, which our content security policy forbids; style sheets that a script
// constructs are allowed.
const constructedStyles = {
  name: "constructed-styles",
  setup({ onLoad }) {
    onLoad({ filter: /style-mod[/\\]src[/\\]style-mod\.js$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      const condition = "!root.head && root.adoptedStyleSheets";
      if (!text.includes(condition)) throw new Error("style-mod has changed; look at how it adds its styles.");
      return { contents: text.replace(condition, "root.adoptedStyleSheets"), loader: "js" };
    });
  },
};

await build({
  entryPoints: ["editor.js"],
  outfile: process.argv[2],
  bundle: true,
  format: "esm",
  minify: true,
  target: "es2022",
  legalComments: "none",
  banner: { js: "/* CodeMirror 6, MIT: codemirror-LICENSE.txt */" },
  plugins: [constructedStyles],
});
