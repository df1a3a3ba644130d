//! The double of fal is what fal is, as far as fal's own client can tell: the unmodified package
//! from PyPI uploads, orders, polls, fetches and cancels at it, by https and under the real names.

use crate::support::doubles::{FAL, KEY, Market, double_file};
use crate::support::{Invocation, python_with_fal_client};

const SCRIPT: &str = "
import fal_client
client = fal_client.SyncClient()
url = client.upload(b'\\x89PNG', 'image/png', 'a.png')
handle = client.submit('fal-ai/trellis', {'image_url': url})
words = [type(event).__name__ for event in handle.iter_events(with_logs=True, interval=0.05)]
assert words[-1] == 'Completed', words
assert handle.get()['model_mesh']['url'].endswith('model.glb')
other = client.submit('fal-ai/trellis/multi', {'image_urls': [url]})
other.cancel()
print('faithful')
";

#[test]
fn the_client_of_fal_itself_finds_nothing_wrong_with_the_double() {
    let Some(python) = python_with_fal_client() else {
        return;
    };
    let market = Market::open_with_tls(FAL, 1, "https://queue.fal.run");
    market.control(serde_json::json!({"queue_s": 0.3}));
    let proxy = market.proxy.expect("there is one");
    let output = Invocation::program(&python, ["-c", SCRIPT])
        .env("FAL_KEY", KEY)
        .env("HTTPS_PROXY", format!("http://127.0.0.1:{proxy}"))
        .env("SSL_CERT_FILE", double_file("tls/ca.pem"))
        .run();
    let _ = output.expect_code(0).expect_stdout("faithful");
    market.wait_for_endings();
    assert_eq!((market.count("accepted"), market.count("cancel")), (2, 1));
    assert_eq!(market.count("charged"), 1);
}
