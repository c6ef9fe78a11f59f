// Reads ONNX files with the modules of Netron that lie beside this file; prints one JSON line for each.

import * as fs from 'fs';
import * as path from 'path';
import * as base from './base.js';
import * as protobuf from './protobuf.js';
import * as onnx from './onnx.js';

const directory = path.dirname(new URL(import.meta.url).pathname);

function contextOf(file) {
    const stream = new base.BinaryStream(new Uint8Array(fs.readFileSync(file)));
    const open = () => {
        stream.seek(0);
        return protobuf.BinaryReader.open(stream);
    };
    return {
        identifier: path.basename(file),
        stream,
        set(type, value) {
            this.type = type;
            this.value = value;
            return type;
        },
        async tags(type) {
            return type === 'pb' ? open().signature() : new Map();
        },
        async peek() {
            return null;
        },
        async read() {
            return open();
        },
        async require(id) {
            return import(`${id}.js`);
        },
        async asset(name) {
            return fs.readFileSync(path.join(directory, name), 'utf-8');
        },
        error(error) {
            throw error;
        }
    };
}

for (const file of process.argv.slice(2)) {
    const factory = new onnx.ModelFactory();
    const context = contextOf(file);
    await factory.match(context);
    const model = await factory.open(context);
    const graph = model.modules[0];
    const valueOf = (value) => ({
        name: value.name,
        shape: value.type && value.type.shape ? value.type.shape.dimensions.map(Number) : null
    });
    const nodes = graph.nodes.map((node) => ({
        type: node.type.name,
        name: node.name,
        outputs: node.outputs.flatMap((argument) => argument.value.map(valueOf)),
        metadata: Object.fromEntries(node.metadata.map((entry) => [entry.name, entry.value]))
    }));
    console.log(JSON.stringify({ format: model.format, inputs: graph.inputs.map((entry) => entry.name), nodes }));
}
