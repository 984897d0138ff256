// The modules that the Vite plugin in help-pages.ts makes.
declare module '*.md?contents' {
  const contents: import('../help-pages.ts').HelpContents
  export default contents
}
declare module '*.md?search' {
  const sections: import('../help-pages.ts').HelpSection[]
  export default sections
}
