/** Returns the SPDX identifier of the first license in a text, or `unknown`. */
export const licenseOf = (text: string | null): string => licensesOf(text)[0] ?? 'unknown'

/**
 * Returns the SPDX identifiers of the recognized licenses in a text, in order of appearance. Covers the licenses that nearly all packages use.
 * Licenses are recognized by characteristic phrases, so names, years and line breaks do not matter.
 */
export function licensesOf(text: string | null): string[] {
  if (text === null) return []
  const words = plain(text)
  const stated = words.split('spdx license identifier ')[1]
  if (stated) {
    const named = licenses.map(({ id }) => id).filter((id) => `${stated} `.startsWith(`${plain(id)} `))
    return named.toSorted((a, b) => b.length - a.length).slice(0, 1)
  }
  const found = licenses.filter(({ phrases, without = [] }) => {
    return phrases.every((phrase) => words.includes(phrase)) && !without.some((phrase) => words.includes(phrase))
  })
  const beginning = ({ phrases: [first = ''] }: License) => words.indexOf(first)
  // Licenses refer to each other. After the first license, count only those whose own text is present.
  const [first, ...others] = found.toSorted((a, b) => beginning(a) - beginning(b))
  return [first, ...others.filter(({ body }) => body === undefined || words.includes(body))].flatMap((license) => license?.id ?? [])
}

/** Returns whether the Open Source Initiative approved a license returned by `licenseOf`. Source: SPDX License List. */
export const isOsiApproved = (id: string): boolean => id !== 'unknown' && !['BSD-4-Clause', 'CC0-1.0', 'CC-BY-4.0'].includes(id)

/** Returns whether the Free Software Foundation considers a license returned by `licenseOf` free. Source: SPDX License List. */
export const isFsfLibre = (id: string): boolean => id !== 'unknown' && !['0BSD', 'LGPL-2.0', 'MIT-0'].includes(id)

/**
 * Recognition rules for a license. `body` is a phrase of the license text itself, for licenses whose `phrases` also occur in texts that only mention
 * the license.
 */
type License = { id: string; phrases: string[]; without?: string[]; body?: string }

/** Reduces a text to lower-case letters, digits and dots within words, separated by single spaces. */
const plain = (text: string) =>
  text
    .slice(0, 262_144)
    .toLowerCase()
    .replaceAll(/[^a-z0-9.]+/g, ' ')
    .replaceAll(/\.(?=\s|$)/g, '')
    .trim()

const redistribution = 'redistribution and use in source and binary forms with or without modification are permitted'
const noPromotion = 'endorse or promote products derived from this software'
const gnu = (title: string, version: string) => `${title} version ${version}`

// If two licenses start at the same position, the first in this list wins.
const licenses: License[] = [
  {
    id: 'AGPL-3.0',
    phrases: [gnu('gnu affero general public license', '3')],
    body: 'the gnu affero general public license is a free copyleft license for software',
  },
  {
    id: 'LGPL-3.0',
    phrases: [gnu('gnu lesser general public license', '3')],
    body: 'this version of the gnu lesser general public license incorporates the terms and conditions of version 3',
  },
  {
    id: 'LGPL-2.1',
    phrases: [gnu('gnu lesser general public license', '2.1')],
    body: 'this license the lesser general public license applies to some specially designated',
  },
  {
    id: 'LGPL-2.0',
    phrases: [gnu('gnu library general public license', '2')],
    body: 'this license the library general public license applies to some specially designated',
  },
  {
    id: 'GPL-3.0',
    phrases: [gnu('gnu general public license', '3')],
    body: 'the gnu general public license is a free copyleft license for software',
  },
  {
    id: 'GPL-2.0',
    phrases: [gnu('gnu general public license', '2')],
    body: 'this general public license applies to most of the free software foundation s software',
  },
  { id: 'MPL-2.0', phrases: ['mozilla public license', '2.0', 'covered software'] },
  { id: 'Apache-2.0', phrases: ['apache license', 'version 2.0', 'www.apache.org licenses'] },
  { id: 'EPL-2.0', phrases: ['eclipse public license v 2.0', 'recipient s acceptance of this agreement'] },
  { id: 'EUPL-1.2', phrases: ['european union public licence v 1.2', 'licensed under the eupl'] },
  { id: 'BSL-1.0', phrases: ['boost software license version 1.0', 'to any person or organization obtaining a copy'] },
  { id: 'CC0-1.0', phrases: ['cc0 1.0 universal', 'affirmer'] },
  { id: 'CC-BY-4.0', phrases: ['creative commons attribution 4.0 international', 'attribution', 'licensed material'] },
  { id: 'Artistic-2.0', phrases: ['the artistic license 2.0', 'standard version', 'modified version'] },
  { id: 'MS-PL', phrases: ['microsoft public license ms pl', 'if you use the software you accept this license'] },
  { id: 'BSD-4-Clause', phrases: [redistribution, 'all advertising materials', 'binary form must reproduce the above'] },
  { id: 'BSD-3-Clause', phrases: [redistribution, noPromotion], without: ['all advertising materials'] },
  {
    id: 'BSD-2-Clause',
    phrases: [redistribution, 'binary form must reproduce the above'],
    without: ['all advertising materials', noPromotion],
  },
  {
    id: 'MIT',
    phrases: [
      'permission is hereby granted free of charge to any person',
      'the above copyright notice and this permission notice shall be included',
    ],
    without: ['shall be used for good'],
  },
  {
    id: 'MIT-0',
    phrases: ['permission is hereby granted free of charge to any person', 'the software is provided as is without warranty of any kind'],
    without: ['notice', 'shall be used for good', 'subject to'],
  },
  {
    id: '0BSD',
    phrases: ['permission to use copy modify and or distribute this software for any purpose with or without fee is hereby granted'],
    without: ['copyright notice and this permission notice'],
  },
  {
    id: 'ISC',
    phrases: [
      'distribute this software for any purpose with or without fee is hereby granted',
      'copyright notice and this permission notice appear in all copies',
    ],
  },
  { id: 'Unlicense', phrases: ['this is free and unencumbered software released into the public domain'] },
  {
    id: 'Zlib',
    phrases: ['this software is provided as is without any express or implied warranty', 'altered source versions must be plainly marked'],
  },
]

const spellings = new Map(licenses.map(({ id }) => [id.toLowerCase(), id]))

/** Returns the SPDX identifier of a license in its usual spelling, such as `BSD-3-Clause` for `bsd-3-clause`. */
export const licenseName = (id: string): string => spellings.get(id.toLowerCase()) ?? id
