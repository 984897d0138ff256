import { randomInt } from 'node:crypto'

// Letters and digits that nobody confuses when reading them out: neither 0 O o nor 1 I l.
const alphabet = '23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz'
const length = 16

/** A one-time password: 16 characters without look-alikes, some 92 bits. `randomInt` favours no character. */
export const generatePassword = (): string => Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')
