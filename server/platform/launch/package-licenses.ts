import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import spdx from 'spdx-license-list/full.js'
import { z } from 'zod'

const manifest = z.object({
  name: z.string(),
  version: z.string(),
  license: z.string().optional(),
  author: z.union([z.string(), z.object({ name: z.string() }).transform(({ name }) => name)]).optional(),
})
const lock = z.object({
  packages: z.record(z.string(), z.object({ version: z.string().optional(), dependencies: z.record(z.string(), z.string()).optional() })),
})
const bundled = z.array(z.object({ name: z.string(), version: z.string() }))

/** Packages that are part of the console but not imported as modules: styles and icons. */
const otherPackages = ['tailwindcss', '@iconify-json/lucide']

/** A package that the console loads as one file, which contains its dependencies. */
const wholePackage = 'node_modules/mermaid'

/** Returns the folders of all packages in a build, as listed by the builds. */
export function bundledFolders(builds: string[]): string[] {
  const { packages } = lock.parse(readJson('package-lock.json'))
  const folderOf = ({ name, version }: { name: string; version: string }) => {
    const folder = Object.keys(packages).find((path) => path.endsWith(`node_modules/${name}`) && packages[path]?.version === version)
    if (folder === undefined) throw new Error(`${name} ${version} is part of the build, but not of package-lock.json.`)
    return folder
  }
  const modules = builds.flatMap((build) => bundled.parse(readJson(join(build, 'licenses.json'))))
  const whole = new Set([wholePackage])
  for (const folder of whole)
    for (const name of Object.keys(packages[folder]?.dependencies ?? {}))
      if (!name.startsWith('@types/'))
        whole.add(`${folder}/node_modules/${name}` in packages ? `${folder}/node_modules/${name}` : `node_modules/${name}`)
  return [...modules.map(folderOf), ...whole, ...otherPackages.map((name) => `node_modules/${name}`)]
}

/**
 * Returns license texts, grouped by text. For a package without a license file, uses the SPDX text and the license section of
 * its README. Throws if a package has no license.
 */
export function licenseTexts(folders: string[]): string {
  const byText = Map.groupBy([...new Set(folders)].map(readLicense), ({ text }) => text)
  const blocks = Array.from(byText, ([text, all]) => `${[...new Set(all.map(({ title }) => title))].toSorted().join('\n')}\n\n${text}\n`)
  return [introduction, ...blocks.toSorted()].join(`\n${'-'.repeat(80)}\n`)
}

const introduction = 'This package contains parts of the following packages, each under the license below its name.\n'

function readLicense(folder: string): { title: string; text: string } {
  const { name, version, license = '', author } = manifest.parse(readJson(join(folder, 'package.json')))
  const title = `${name} ${version}${license && ` (${license})`}`
  const files = readdirSync(folder).filter((file) => isLicense.test(file) && !isCode.test(file))
  const text =
    files.length > 0
      ? files
          .toSorted()
          .map((file) => readText(join(folder, file)))
          .join('\n\n')
      : spdx[license]?.licenseText.trim()
  if (!text) throw new Error(`${title} has no license.`)
  if (files.length > 0) return { title, text }
  const holder = author ?? `the authors of ${name}`
  const said = licenseSection.exec(readText(join(folder, 'README.md')))?.[0].trim()
  return { title, text: [`By ${holder}`, said, text.replace('<year> <copyright holders>', holder)].filter(Boolean).join('\n\n') }
}

const isLicense = /(^|\.)(licen[cs]e|copying|notice|third-party-notices)/i
const isCode = /\.([cm]?[jt]s|json|map)$/
/** The license section of a README. */
const licenseSection = /^#+ *licen[cs](e|ing).*\n(?:(?!#).*\n?)*/im

const readText = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8').replaceAll('\r\n', '\n').trim() : '')
const readJson = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'))
