// Lines of JSON to whoever runs this program, and the lines by which they tell it to go on.
import { createInterface } from 'node:readline';

const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

export const say = value => process.stdout.write(`${JSON.stringify(value)}\n`);

// False at the end of the input.
export const told = async () => !(await input.next()).done;
