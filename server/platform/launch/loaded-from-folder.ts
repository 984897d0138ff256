/** Packages that are loaded from node_modules instead of being bundled: native code, and packages whose files are located by path. */
export const loadedFromFolder = ['bcrypt', 'better-sqlite3', 'sharp', 'tree-sitter-dart-orchard', 'web-tree-sitter']
